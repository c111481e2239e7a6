import { Deferred, lazyCode } from "../../components/lazy-code.tsx";
import styles from "./Message.module.css";

interface AnswerTextProps {
  readonly text: string;
  /** Whether the text is shown as the model wrote it. */
  readonly isRaw: boolean;
}

/** Markdown is most of the page's script, so it is loaded with the first answer. */
const markdown = lazyCode(async () => (await import("./Markdown.tsx")).Markdown);

/** The text of an answer, as the model wrote it while the code that formats it is missing. */
export function AnswerText({ text, isRaw }: AnswerTextProps) {
  if (isRaw) return <RawText text={text} />;
  return <Deferred code={markdown} props={{ text }} fallback={<RawText text={text} />} />;
}

export function RawText({ text }: { readonly text: string }) {
  return (
    <div className={styles.messageText} dir="auto">
      {text}
    </div>
  );
}
