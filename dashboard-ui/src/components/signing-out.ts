import { useNavigate } from "@tanstack/react-router";
import { client, queryClient } from "../api/client.ts";
import { isRefused } from "../api/errors.ts";
import { tellOtherTabs } from "../sign-in/other-tabs.ts";
import { clearSession } from "./storage.ts";

/** Whether the user has asked to be signed out, and it is not known that they still are signed in. */
let isLeaving = false;

/** Whether a session that has ended was ended by its user, to whom the answer was lost. */
export function hasLeft(): boolean {
  return isLeaving;
}

/** Deletes what the browser has stored of a user who has signed out, also in the other tabs. */
export function forgetUser(): void {
  isLeaving = false;
  queryClient.clear();
  clearSession();
  tellOtherTabs("signed out");
}

/** Returns options of the mutations by which a user signs out. Every tab goes to the sign-in page then. */
export function useSigningOut() {
  const navigate = useNavigate();
  const leave = async () => {
    forgetUser();
    await navigate({ to: "/sign-in" });
  };
  /** The session may have ended although the answer was lost. Without a connection, the page learns it when there is one again. */
  const findOut = async () => {
    const me = await client.auth.me.query();
    if (me === null) await leave();
    else isLeaving = false;
  };
  return {
    onMutate: () => {
      isLeaving = true;
    },
    onSuccess: leave,
    onError: (error: unknown) => {
      isLeaving = !isRefused(error);
      if (isLeaving) void findOut().catch(() => undefined);
    },
  };
}
