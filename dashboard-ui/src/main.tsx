import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient, whenSignedOut } from "./api/client.ts";
import { applyTheme, readTheme } from "./components/theme.ts";
import { router } from "./router.tsx";
import "./styles/main.css";

whenSignedOut(() => {
  const { location } = router.state;
  if (location.pathname === "/sign-in") return;
  queryClient.clear();
  void router.navigate({ to: "/sign-in", search: { to: location.href } });
});

applyTheme(readTheme());

const place = document.getElementById("root");
if (place === null) throw new Error("the page has no root element");
createRoot(place).render(
  <StrictMode>
    {/* The content security policy allows only styles from files. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
