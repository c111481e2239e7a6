import styles from "./Code.module.css";
import { Deferred, lazyCode } from "./lazy-code.tsx";

const colouredCode = lazyCode(async () => (await import("./ColouredCode.tsx")).ColouredCode);

interface CodeTextProps {
  readonly text: string;
  /** The language's name, such as "bash"; any other has no colours. */
  readonly language: string;
}

/** Code in colours, once the code that finds them is loaded. */
export function CodeText({ text, language }: CodeTextProps) {
  if (language === "") return text;
  return <Deferred code={colouredCode} props={{ text, language }} fallback={text} />;
}

interface CodeProps {
  /** The accessible name of the code block. */
  readonly label: string;
  readonly language?: string;
  readonly children: string;
}

/** A framed block of code, which scrolls horizontally when the code is too wide. */
export function Code({ label, language = "", children }: CodeProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by the keyboard (WCAG 2.1.1)
    <section className={styles.code} tabIndex={0} aria-label={label}>
      <pre>
        <code>
          <CodeText text={children} language={language} />
        </code>
      </pre>
    </section>
  );
}
