import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { LoadError, Loading } from "./Notice.tsx";
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

export function PageFailed({ error }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <Welcome title="This page could not be loaded">
      {/* The retry runs the loaders again. Resetting the error alone would show it again. */}
      <LoadError error={error} retry={() => router.invalidate()} />
    </Welcome>
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
