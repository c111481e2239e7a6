import { useNavigate } from "@tanstack/react-router";
import { queryClient } from "../api/client.ts";
import { clearSession } from "./storage.ts";

/** Returns what a user's signing out ends with: it deletes what the browser has stored of them, and goes to the sign-in page. */
export function useSignedOut(): () => Promise<void> {
  const navigate = useNavigate();
  return async () => {
    queryClient.clear();
    clearSession();
    await navigate({ to: "/sign-in" });
  };
}
