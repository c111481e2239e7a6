import { type ErrorComponentProps, Link, useMatch, useRouter } from "@tanstack/react-router";
import { TRPCClientError } from "@trpc/client";
import { useEffect } from "react";
import { CodeError } from "../code-loading.ts";
import buttonStyles from "./Button.module.css";
import { Button } from "./Button.tsx";
import { CodeRetry, codeErrorText, RetryWhenReconnected } from "./lazy.tsx";
import { Empty, LoadError, Loading, Notice } from "./Notice.tsx";
import { PageHead } from "./PageHead.tsx";
import { Skeleton } from "./Skeleton.tsx";
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

/** The page of a path that does not exist, for users who are signed in. */
export function NotFoundInShell() {
  return (
    <>
      <PageHead title="Page not found" />
      <Empty title="This page does not exist" art="search">
        <p>The link may be mistyped, or what it led to may be gone.</p>
        <Link to="/" className={buttonStyles.button}>
          Go to the start page
        </Link>
      </Empty>
    </>
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
  if (error instanceof TRPCClientError) return <LoadError error={error} retry={retry} />;
  if (!(error instanceof CodeError)) {
    // The code of the page has failed, for example on an answer of another version of the service.
    return (
      <Notice tone="error">
        <p>An error occurred on this page. Reload it to try again.</p>
        <Button onClick={() => location.reload()}>Reload</Button>
      </Notice>
    );
  }
  return (
    <Notice tone="error">
      <p>{codeErrorText(error)}</p>
      <CodeRetry error={error} retry={retry} />
      <RetryWhenReconnected error={error} retry={retry} />
    </Notice>
  );
}

/** The pages before sign-in are a document of their own, which the service has at the path of the route. */
export function LeaveDashboard() {
  const { fullPath } = useMatch({ strict: false });
  useEffect(() => {
    // At another spelling of the path, such as one that ends in a slash, the service has the dashboard, which would load itself forever.
    if (location.pathname === fullPath) location.reload();
    else location.replace(`${fullPath}${location.search}`);
  }, [fullPath]);
  return <DashboardLoading />;
}

export function DashboardLoading() {
  return (
    <main className={welcomeStyles.welcome}>
      <Loading what="the dashboard" isLine />
    </main>
  );
}

export function PageLoading() {
  return <Skeleton what="the page" isPage />;
}
