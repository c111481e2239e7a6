import type { ReactNode } from "react";
import { initialOf } from "./format.ts";
import styles from "./ProviderMark.module.css";

/** Own drawings that stand for providers; they are not the providers' logos. */
const DRAWINGS: readonly { readonly of: RegExp; readonly drawing: ReactNode }[] = [
  { of: /openai|gpt/, drawing: <path d="M12 4.5 18.5 8.200v7.600L12 19.5l-6.5-3.700V8.200Z M12 9v6" /> },
  { of: /anthropic|claude/, drawing: <path d="M5.5 18.5 12 5.5l6.5 13M8.5 14h7" /> },
  { of: /google|gemini|vertex/, drawing: <path d="M17.5 8A6.5 6.5 0 1 0 18.5 12H12.5" /> },
  { of: /mistral/, drawing: <path d="M5 18.5V6l7 6.5L19 6v12.5" /> },
  { of: /ollama/, drawing: <path d="M8 9V5M16 9V5M6 19v-5a6 6 0 0 1 12 0v5M10 14.5h.1M14 14.5h.1" /> },
  { of: /azure/, drawing: <path d="M12.5 5 5 18.5h14.5L14.5 9.5" /> },
  { of: /bedrock|amazon|aws/, drawing: <path d="m5 9 7-4 7 4-7 4Zm0 5 7 4 7-4" /> },
  { of: /groq/, drawing: <path d="M17 11.5a5 5 0 1 0-5 5h5v-5" /> },
  { of: /meta|llama/, drawing: <path d="M5 16c0-11 5-11 7-4s7 7 7 1-5-8-7-1-7 9-7 4Z" /> },
  { of: /deepseek/, drawing: <path d="M5 12c3-6 11-6 14 0-3 6-11 6-14 0Zm7 0h.1" /> },
  {
    of: /sandbox/,
    drawing: <path d="m12 4.5 7 3.800v7.400l-7 3.800-7-3.800V8.300Zm0 7.5 7-3.700M12 12 5 8.300M12 12v7.5" />,
  },
];

/** A small mark of the provider of models: its drawing, or its first letter. */
export function ProviderMark({ name }: { readonly name: string }) {
  const known = DRAWINGS.find(({ of }) => of.test(name.toLowerCase()));
  return (
    <span className={styles.mark} aria-hidden="true">
      {known === undefined ? (
        initialOf(name)
      ) : (
        <svg viewBox="0 0 24 24" width="1rem" height="1rem" aria-hidden="true">
          {known.drawing}
        </svg>
      )}
    </span>
  );
}
