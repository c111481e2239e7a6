import { lazy, Suspense } from "react";
import styles from "./Message.module.css";

interface AnswerTextProps {
  readonly text: string;
  /** Whether the text is shown as the model wrote it. */
  readonly isRaw: boolean;
}

/** Markdown is most of the page's script, so it is loaded with the first answer. Where it cannot be, the text is shown as it is. */
const Markdown = lazy(async () => {
  try {
    return { default: (await import("./Markdown.tsx")).Markdown };
  } catch {
    return { default: RawText };
  }
});

/** The text of an answer. */
export function AnswerText({ text, isRaw }: AnswerTextProps) {
  if (isRaw) return <RawText text={text} />;
  return (
    <Suspense fallback={<RawText text={text} />}>
      <Markdown text={text} />
    </Suspense>
  );
}

export function RawText({ text }: { readonly text: string }) {
  return <div className={styles.messageText}>{text}</div>;
}
