import { classes } from "../../components/classes.ts";
import textStyles from "../../components/text.module.css";
import { RawText } from "./AnswerText.tsx";
import { CodeBlock } from "./CodeBlock.tsx";
import { checkJson } from "./check-json.ts";
import styles from "./JsonAnswer.module.css";
import type { OutputFormat } from "./tools.ts";

interface JsonAnswerProps {
  readonly text: string;
  readonly format: OutputFormat;
}

/** An answer that had to be JSON, formatted, and whether it is what was requested. */
export function JsonAnswer({ text, format }: JsonAnswerProps) {
  const { formatted, problems } = checkJson(text, format);
  return (
    <div className={styles.answer}>
      {formatted === null ? <RawText text={text} /> : <CodeBlock code={formatted} language="json" />}
      {problems.length === 0 ? (
        <p className={textStyles.small}>
          {format.kind === "json_schema" ? "Valid: the answer follows the schema." : "Valid JSON."}
        </p>
      ) : (
        <ul className={classes(styles.problems)}>
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
