import { useEffect, useRef, useState } from "react";
import { api, queryClient } from "../api/client.ts";
import { onSessionEnded, sessionStore } from "./storage.ts";

/** A draft with its author. Another user who signs in afterwards does not get it. */
interface Kept {
  readonly userId: string;
  readonly draft: unknown;
}

/**
 * What is typed into a form and not saved; `null`: nothing. If the session ends meanwhile, it is kept for its author, who finds it after signing
 * in again. Not for secrets, as the browser stores it.
 *
 * @param name of the form, and of what it changes.
 */
export function useKeptDraft<Draft>(name: string) {
  const place = `draft ${name}`;
  const [draft, setDraft] = useState<Draft | null>(() => keptIn(place) as Draft | null);
  const latest = useRef(draft);
  useEffect(() => {
    latest.current = draft;
  }, [draft]);
  useEffect(() => {
    sessionStore.write(place, null);
    return onSessionEnded(() => {
      const userId = signedInId();
      if (latest.current === null || userId === null) return;
      sessionStore.write(place, JSON.stringify({ userId, draft: latest.current } satisfies Kept));
    });
  }, [place]);
  return [draft, setDraft] as const;
}

/** A field's value, `initial` until something is typed. It is kept like a draft of {@link useKeptDraft}. */
export function useKept<Value>(name: string, initial: Value) {
  const [draft, setDraft] = useKeptDraft<Value>(name);
  return [draft ?? initial, setDraft] as const;
}

function keptIn(place: string): unknown {
  const text = sessionStore.read(place);
  if (text === null) return null;
  const { userId, draft } = JSON.parse(text) as Kept;
  return userId === signedInId() ? draft : null;
}

function signedInId(): string | null {
  return queryClient.getQueryData(api.auth.me.queryKey())?.user.id ?? null;
}
