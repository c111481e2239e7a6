import { useEffect, useState } from "react";
import { Check, Copy } from "../icons/icons.ts";
import { Button, IconButton } from "./Button.tsx";
import { copyText } from "./copy.ts";
import textStyles from "./text.module.css";
import { toast } from "./toast.ts";

interface CopyButtonProps {
  readonly text: string;
  /** What the button copies, for its name: "Copy key". */
  readonly what: string;
  /** Whether it is only an icon, for a button beside the copied text. */
  readonly short?: boolean;
  /** `primary` where copying is the next step. */
  readonly look?: "primary" | "plain";
}

const SHOWN_MS = 2_000;

export function CopyButton({ text, what, short = false, look = "plain" }: CopyButtonProps) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");

  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);

  const copy = async () => {
    const isCopied = await copyText(text);
    setState(isCopied ? "copied" : "failed");
    if (isCopied) toast(`Copied ${what}`);
  };

  const label = {
    idle: `Copy ${what}`,
    copied: "Copied",
    failed: "Copy failed. Select the text and copy it.",
  }[state];
  const icon =
    state === "copied" ? <Check size={15} aria-hidden="true" /> : <Copy size={15} aria-hidden="true" />;
  return (
    <>
      {short ? (
        <IconButton size="small" label={label} icon={icon} onClick={() => void copy()} />
      ) : (
        <Button look={look} icon={icon} onClick={() => void copy()}>
          {label}
        </Button>
      )}
      <span className={textStyles.visuallyHidden} role="status">
        {state === "failed" ? label : ""}
      </span>
    </>
  );
}
