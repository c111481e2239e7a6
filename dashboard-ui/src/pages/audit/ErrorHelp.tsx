import { Link } from "@tanstack/react-router";
import textStyles from "../../components/text.module.css";
import styles from "./EntryDetails.module.css";
import { errorHelp } from "./error-help.ts";

interface ErrorHelpProps {
  readonly code: string;
  /** Whether the reader is an operator, who has no pages of the account. */
  readonly isOperator: boolean;
}

/** What an error code means, what to do, and where to read more. */
export function ErrorHelp({ code, isOperator }: ErrorHelpProps) {
  const help = errorHelp(code);
  if (help === null) return null;
  return (
    <div className={styles.sheetHelp}>
      <p>
        {help.text.split("`").map((part, index) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text do not change their order
          index % 2 === 1 ? <code key={index}>{part}</code> : part,
        )}
      </p>
      <p className={textStyles.small}>
        {help.page === undefined || isOperator ? null : (
          <>
            <Link to={help.page.to}>{help.page.label}</Link>
            {" · "}
          </>
        )}
        {/* The documentation has pages of its own, which the router does not know. */}
        <a href="/docs/reference/errors">All error codes</a>
      </p>
    </div>
  );
}
