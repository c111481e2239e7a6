import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { api, queryClient, whenSignedOut } from "./api/client.ts";
import { whenReconnected } from "./api/connection.ts";
import { loadPagesAhead } from "./code-loading.ts";
import { ServiceName } from "./components/service-name.ts";
import { forgetUser, hasLeft } from "./components/signing-out.ts";
import { clearSession, LAST_EMAIL, sessionEnded, sessionStore } from "./components/storage.ts";
import { followTheme } from "./components/theme.ts";
import { router } from "./router.tsx";
import { onNewsOfOtherTabs } from "./sign-in/other-tabs.ts";
import "./styles/main.css";

whenSignedOut(() => {
  const { location } = router.state;
  if (location.pathname === "/sign-in") return;
  if (hasLeft()) {
    forgetUser();
    return void router.navigate({ to: "/sign-in" });
  }
  sessionEnded();
  const me = queryClient.getQueryData(api.auth.me.queryKey());
  // Several requests may learn it, and the first clears what is known.
  if (me != null) sessionStore.write(LAST_EMAIL, me.user.email);
  queryClient.clear();
  void router.navigate({ to: "/sign-in", search: { to: location.href, ended: true } });
});

onNewsOfOtherTabs((news) => {
  const me = api.auth.me.queryKey();
  // It may be another user, which the shell finds out.
  if (news === "signed in") return void queryClient.invalidateQueries({ queryKey: me });
  queryClient.clear();
  clearSession();
  void router.navigate({ to: "/sign-in" });
});

/** How long after the first page the code of the others is loaded. */
const LOAD_AHEAD_AFTER_MS = 4_000;

function Named({ children }: { readonly children: ReactNode }) {
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  return <ServiceName value={info.data?.serviceName}>{children}</ServiceName>;
}

// A page that could not be loaded while the connection was lost is loaded again.
whenReconnected(() => {
  if (router.state.matches.some(({ status }) => status === "error")) void router.invalidate();
});

// The other pages are loaded after the first one, so that they open at once, even while the service restarts.
addEventListener("load", () => setTimeout(() => void loadPagesAhead(), LOAD_AHEAD_AFTER_MS), { once: true });

followTheme();

const place = document.getElementById("root");
if (place === null) throw new Error("the page has no root element");
createRoot(place).render(
  <StrictMode>
    {/* The content security policy allows only styles from files. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <Named>
          <RouterProvider router={router} />
        </Named>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
