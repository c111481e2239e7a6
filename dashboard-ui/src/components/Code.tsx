import type { ReactNode } from "react";
import styles from "./Code.module.css";

interface CodeProps {
  /** What it is, for those who come to it by the keyboard or listen. */
  readonly label: string;
  readonly children: ReactNode;
}

/** Code in a frame of its own, which scrolls where the code is too wide. */
export function Code({ label, children }: CodeProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard (WCAG 2.1.1)
    <section className={styles.code} tabIndex={0} aria-label={label}>
      <pre>
        <code>{children}</code>
      </pre>
    </section>
  );
}
