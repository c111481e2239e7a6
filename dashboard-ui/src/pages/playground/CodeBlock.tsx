import { CodeText } from "../../components/Code.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import styles from "./CodeBlock.module.css";

interface CodeBlockProps {
  readonly code: string;
  /** As the model names it; may be empty. */
  readonly language: string;
}

/** Code in an answer, with a button to copy it. */
export function CodeBlock({ code, language }: CodeBlockProps) {
  return (
    <div className={styles.block}>
      <div className={styles.head}>
        <span>{language === "" ? "code" : language}</span>
        <CopyButton short text={code} what="code" />
      </div>
      {/* A group rather than a section: an answer may have many, which would all be landmarks. */}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset groups inputs */}
      <div
        className={styles.code}
        // Code is written from left to right, also in an Arabic list.
        dir="ltr"
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by the keyboard (WCAG 2.1.1)
        tabIndex={0}
        aria-label={language === "" ? "Code" : `Code in ${language}`}
      >
        <pre>
          <code>
            <CodeText text={code} language={language} />
          </code>
        </pre>
      </div>
    </div>
  );
}
