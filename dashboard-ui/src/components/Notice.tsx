import type { ReactNode } from "react";
import { errorTextOf } from "../api/errors.ts";
import { Button } from "./Button.tsx";

export function Notice({
  tone,
  children,
}: {
  readonly tone: "warning" | "error";
  readonly children: ReactNode;
}) {
  return (
    <div className={`notice notice-${tone}`} role={tone === "error" ? "alert" : "status"}>
      {children}
    </div>
  );
}

interface LoadErrorProps {
  readonly error: unknown;
  readonly retry: () => void;
  /** While it is being tried again. */
  readonly busy?: boolean;
}

/** Where a list could not be loaded. */
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
    <div className="loading" role="status">
      <span className="spinner" aria-hidden="true" /> Loading {what}…
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
