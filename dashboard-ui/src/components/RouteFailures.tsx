import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import buttonStyles from "./Button.module.css";
import { Empty, LoadError, Loading } from "./Notice.tsx";
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

export function PageFailed({ error }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <Welcome title="This page could not be loaded">
      {/* The retry runs the loaders again. Resetting the error alone would show it again. */}
      <LoadError error={error} retry={() => router.invalidate()} />
    </Welcome>
  );
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
