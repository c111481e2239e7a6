import { type ReactNode, type Ref, useSyncExternalStore } from "react";
import { connection } from "../api/connection.ts";
import { isUnreachable, loadErrorTextOf } from "../api/errors.ts";
import { CircleAlert, CircleCheck, TriangleAlert } from "../icons/notices.ts";
import { Button } from "./Button.tsx";
import { classes } from "./classes.ts";
import { EmptyArt, type EmptyKind } from "./EmptyArt.tsx";
import styles from "./Notice.module.css";
import { Skeleton } from "./Skeleton.tsx";
import { Spinner } from "./Spinner.tsx";

const TONES = {
  good: { look: styles.noticeGood, Icon: CircleCheck },
  warning: { look: styles.noticeWarning, Icon: TriangleAlert },
  error: { look: styles.noticeError, Icon: CircleAlert },
};

interface NoticeProps {
  readonly tone: keyof typeof TONES;
  readonly children: ReactNode;
  readonly ref?: Ref<HTMLDivElement>;
}

export function Notice({ tone, children, ref }: NoticeProps) {
  const { look, Icon } = TONES[tone];
  return (
    <div ref={ref} className={classes(styles.notice, look)} role={tone === "error" ? "alert" : "status"}>
      <Icon size={16} aria-hidden="true" />
      <div className={styles.body}>{children}</div>
    </div>
  );
}

/** Scrolls to what the user must read, as far as it is out of sight: in a small window, or on an enlarged page. */
export function scrollIntoSight(element: Element | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

interface FormErrorProps {
  /** Why the form was refused; `null` where it was not. */
  readonly text: string | null;
}

/** The error of a form as a whole, for a place above its buttons. It is scrolled to where it would not be seen. */
export function FormError({ text }: FormErrorProps) {
  if (text === null) return null;
  return (
    <Notice tone="error" ref={scrollIntoSight}>
      {text}
    </Notice>
  );
}

interface LoadErrorProps {
  readonly error: unknown;
  readonly retry: () => void;
  /** Whether a retry is under way. */
  readonly busy?: boolean;
  /** Whether earlier data is shown. A lost connection then needs no error beside the line that tells of it. */
  readonly hasData?: boolean;
}

/** The error of a list that could not be loaded, with a retry button. */
export function LoadError({ error, retry, busy = false, hasData = false }: LoadErrorProps) {
  const isLost = useSyncExternalStore(connection.subscribe, connection.isLost);
  // Once the connection is back, all data is asked for again.
  if (hasData && isUnreachable(error) && (isLost || (busy && connection.isRefreshing()))) return null;
  return (
    <Notice tone="error">
      <p>{loadErrorTextOf(error)}</p>
      <Button busy={busy} onClick={retry}>
        Try again
      </Button>
    </Notice>
  );
}

interface LoadingProps {
  readonly what: string;
  /** Whether it is a line of text within content, rather than the shape of the content. */
  readonly isLine?: boolean;
}

export function Loading({ what, isLine = false }: LoadingProps) {
  if (!isLine) return <Skeleton what={what} />;
  return (
    <div className={styles.loading} role="status">
      <Spinner /> Loading {what}…
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly art?: EmptyKind;
  readonly children: ReactNode;
}

/** The place of content that does not exist yet: what it would be, and how to begin. */
export function Empty({ title, art = "list", children }: EmptyProps) {
  return (
    <div className={styles.empty}>
      <EmptyArt kind={art} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
