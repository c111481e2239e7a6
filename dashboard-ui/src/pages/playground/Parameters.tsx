import { useState } from "react";
import { LazyPart } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import { browserStore } from "../../components/storage.ts";
import textStyles from "../../components/text.module.css";
import styles from "./Parameters.module.css";
import type { ParameterTexts } from "./parameters.ts";

/** The fields with their sliders are loaded when they are looked at. */
const parameterFields = lazyCode(async () => (await import("./ParameterFields.tsx")).ParameterFields);

const KEPT_AS = "playground-parameters";

interface ParametersProps {
  readonly texts: ParameterTexts;
  readonly stream: boolean;
  readonly onChange: (texts: ParameterTexts) => void;
  readonly onStreamChange: (stream: boolean) => void;
}

/** The form of the request's parameters. Empty ones are not sent. Whether it is open is remembered in this browser. */
export function Parameters(props: ParametersProps) {
  const [isOpen, setOpen] = useState(() => browserStore.read(KEPT_AS) === "open");
  const set = Object.values(props.texts).filter((text) => text !== "").length;
  return (
    <details
      className={styles.parameters}
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        setOpen(open);
        browserStore.write(KEPT_AS, open ? "open" : null);
      }}
    >
      <summary>
        Parameters <span className={textStyles.small}>{set === 0 ? "none set" : `${set} set`}</span>
      </summary>
      {isOpen ? <LazyPart code={parameterFields} props={props} what="the parameters" /> : null}
    </details>
  );
}
