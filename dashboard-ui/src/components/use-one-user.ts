import { useEffect, useRef } from "react";
import { clearTab } from "./storage.ts";

/** Opens the dashboard again when another user has signed in, in another tab: what this one shows and keeps is of the user before. */
export function useOneUser(userId: string | undefined): void {
  const first = useRef(userId);
  useEffect(() => {
    first.current ??= userId;
    if (userId === undefined || userId === first.current) return;
    clearTab();
    location.assign("/");
  }, [userId]);
}
