import type { ReactNode } from "react";
import styles from "./Code.module.css";

interface CodeProps {
  /** The accessible name of the code block. */
  readonly label: string;
  readonly children: ReactNode;
}

/** A framed block of code, which scrolls horizontally when the code is too wide. */
export function Code({ label, children }: CodeProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by the keyboard (WCAG 2.1.1)
    <section className={styles.code} tabIndex={0} aria-label={label}>
      <pre>
        <code>{children}</code>
      </pre>
    </section>
  );
}
