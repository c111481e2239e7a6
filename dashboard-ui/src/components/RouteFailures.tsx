import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { CodeError } from "../code-loading.ts";
import { CodeRetry, codeLossText } from "./lazy.tsx";
import { LoadError, Loading, Notice } from "./Notice.tsx";
import { PageHead } from "./PageHead.tsx";
import welcomeStyles from "./Welcome.module.css";
import { Welcome } from "./Welcome.tsx";

export function PageNotFound() {
  return (
    <Welcome title="Page not found">
      <p>
        <Link to="/">Go to the overview</Link>
      </p>
    </Welcome>
  );
}

const FAILED = "This page could not be loaded";

/** A failure of the dashboard as a whole. */
export function DashboardFailed({ error }: ErrorComponentProps) {
  return (
    <Welcome title={FAILED}>
      <Failure error={error} />
    </Welcome>
  );
}

/** A failure of a page, in the place of the page. */
export function PageFailed({ error }: ErrorComponentProps) {
  return (
    <>
      <PageHead title={FAILED} />
      <Failure error={error} />
    </>
  );
}

function Failure({ error }: { readonly error: unknown }) {
  const router = useRouter();
  // The retry runs the loaders again. Resetting the error alone would show it again.
  const retry = () => void router.invalidate();
  if (!(error instanceof CodeError)) return <LoadError error={error} retry={retry} />;
  return (
    <Notice tone="error">
      <p>{codeLossText(error)}</p>
      <CodeRetry error={error} retry={retry} />
    </Notice>
  );
}

/** The pages before sign-in are a document of their own, which the service has at the same address. */
export function LeaveDashboard() {
  useEffect(() => location.reload(), []);
  return <DashboardLoading />;
}

export function DashboardLoading() {
  return (
    <main className={welcomeStyles.welcome}>
      <Loading what="the dashboard" />
    </main>
  );
}

export function PageLoading() {
  return <Loading what="the page" />;
}
