import type { ReactNode } from "react";
import { errorTextOf } from "../api/errors.ts";
import { Button } from "./Button.tsx";
import { classes } from "./classes.ts";
import styles from "./Notice.module.css";
import { Spinner } from "./Spinner.tsx";

const TONES = { error: styles.noticeError, warning: styles.noticeWarning };

export function Notice({
  tone,
  children,
}: {
  readonly tone: "warning" | "error";
  readonly children: ReactNode;
}) {
  return (
    <div className={classes(styles.notice, TONES[tone])} role={tone === "error" ? "alert" : "status"}>
      {children}
    </div>
  );
}

interface LoadErrorProps {
  readonly error: unknown;
  readonly retry: () => void;
  /** Whether a retry is under way. */
  readonly busy?: boolean;
}

/** The error of a list that could not be loaded, with a retry button. */
export function LoadError({ error, retry, busy = false }: LoadErrorProps) {
  return (
    <Notice tone="error">
      <p>{errorTextOf(error)}</p>
      <Button busy={busy} onClick={retry}>
        Try again
      </Button>
    </Notice>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <div className={styles.loading} role="status">
      <Spinner /> Loading {what}…
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}
