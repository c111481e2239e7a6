import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { loadCode } from "../../code-loading.ts";
import type { Chat } from "./chat.ts";

/** The beginning of a shared chat's fragment, known without the code that reads it. */
const SHARED = /^#?chat=/;

/** Whether a fragment contains a chat. */
export function isShared(hash: string): boolean {
  return SHARED.test(hash);
}

/** Opens the chat that the address contains, once, and removes it from the address. Returns what to tell the user about it. */
export function useSharedChat(chat: Chat): string | null {
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const navigate = useNavigate({ from: "/playground" });
  const [notice, setNotice] = useState<string | null>(null);
  useEffect(() => {
    if (!isShared(hash)) return;
    void (async () => {
      const share = await loadCode(() => import("./share.ts")).catch(() => null);
      // The address keeps the chat, so that a reload opens it.
      if (share === null) return setNotice("The chat in the link could not be opened. Reload to try again.");
      const saved = await share.readShared(hash.replace("#", ""));
      if (saved !== null) chat.openShared(saved);
      setNotice(
        saved === null
          ? "The link is damaged. Ask for it again."
          : "Opened from a link. Nothing was sent. Your previous chat is in the history.",
      );
      await navigate({ search: {}, hash: "", replace: true, resetScroll: false });
    })();
  }, [hash, chat, navigate]);
  return notice;
}
