import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button } from "../../components/Button.tsx";
import { formatSpan } from "../../components/format.ts";
import { Notice } from "../../components/Notice.tsx";
import textStyles from "../../components/text.module.css";
import styles from "./AskFailure.module.css";
import type { ChatFailure } from "./failure.ts";

interface AskFailureProps {
  readonly failure: ChatFailure;
  readonly askAgain: () => void;
}

/** The service's error message for a failed request, with advice. */
export function AskFailure({ failure, askAgain }: AskFailureProps) {
  const { code, message, requestId, retryAfterMs } = failure;
  if (code === "not_signed_in") {
    // The user who reads this has signed in again. The log has no such request.
    return (
      <Notice tone="error">
        <p>Your session ended before the message was sent.</p>
        <Button onClick={askAgain}>Try again</Button>
      </Notice>
    );
  }
  return (
    <Notice tone="error">
      <div className={styles.askFailure}>
        <p>{message}</p>
        <p>
          {adviceFor(code)}
          {retryAfterMs === null
            ? null
            : `Wait ${formatSpan(Math.ceil(retryAfterMs / 1_000))}, then try again. `}
        </p>
        {code === null && requestId === null ? null : (
          <p className={textStyles.small}>
            {code === null ? null : <code>{code}</code>}{" "}
            {requestId === null ? null : (
              <Link to="/audit" search={{ entry: requestId }}>
                {requestId}
              </Link>
            )}
          </p>
        )}
      </div>
      <Button onClick={askAgain}>Try again</Button>
    </Notice>
  );
}

/** Advice for errors whose message does not say what to do in the playground. */
function adviceFor(code: string | null): ReactNode {
  switch (code) {
    case "credit_balance_exhausted":
      return (
        <>
          Check the account's <Link to="/settings/credits">credits</Link>.{" "}
        </>
      );
    case "context_length_exceeded":
      return "Delete messages, or choose a model with a longer context. ";
    case "model_not_found":
      return (
        <>
          Choose another <Link to="/models">model</Link>.{" "}
        </>
      );
    case "revoked_api_key":
      return "Choose another key. ";
    default:
      return null;
  }
}
