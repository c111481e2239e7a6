import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { api, queryClient, whenSignedOut } from "./api/client.ts";
import { ServiceName } from "./components/service-name.ts";
import { applyTheme, readTheme } from "./components/theme.ts";
import { router } from "./router.tsx";
import "./styles/main.css";

whenSignedOut(() => {
  const { location } = router.state;
  if (location.pathname === "/sign-in") return;
  queryClient.clear();
  void router.navigate({ to: "/sign-in", search: { to: location.href } });
});

function Named({ children }: { readonly children: ReactNode }) {
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  return <ServiceName value={info.data?.serviceName}>{children}</ServiceName>;
}

applyTheme(readTheme());

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
