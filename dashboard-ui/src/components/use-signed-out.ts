import { useNavigate } from "@tanstack/react-router";
import { queryClient } from "../api/client.ts";
import { tellOtherTabs } from "../sign-in/other-tabs.ts";
import { clearSession } from "./storage.ts";

/** Returns what a user's signing out ends with: what the browser has stored of them is deleted, and every tab goes to the sign-in page. */
export function useSignedOut(): () => Promise<void> {
  const navigate = useNavigate();
  return async () => {
    queryClient.clear();
    clearSession();
    tellOtherTabs("signed out");
    await navigate({ to: "/sign-in" });
  };
}
