import type { AppRouter } from "@ostiary/server/router";
import type { inferRouterOutputs } from "@trpc/server";
import { api, client, noticeSignedOut, queryClient } from "../../api/client.ts";
import { connection } from "../../api/connection.ts";
import { errorCodeOf } from "../../api/errors.ts";
import type { AuditFilters } from "./filters.ts";

type Tail = inferRouterOutputs<AppRouter>["audit"]["tail"];

/** The entries recorded since the previous event. */
export type TailNews = Tail extends AsyncIterable<{ readonly data: infer News }> ? News : never;

export type TailState =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** The connection was lost and is being restored. */
  | { readonly kind: "reconnecting" }
  | { readonly kind: "refused"; readonly error: unknown };

interface TailListener {
  onState(state: TailState): void;
  /** @param isNewStream whether earlier entries may be missing, because the stream does not resume after an event. */
  onLive(isNewStream: boolean): void;
  onNews(news: TailNews): void;
}

const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
/** Error codes after which the log is followed again. */
const TEMPORARY = ["server_is_overloaded", "internal_error", "too_many_concurrent_requests"];

/**
 * Follows the log: reports new entries without gap or repetition, and reconnects after interruptions. The returned function
 * ends it.
 */
export function followAudit(filters: AuditFilters, listener: TailListener): () => void {
  let lastEventId: string | null = null;
  let hasBeenLive = false;
  let failures = 0;
  let leave: () => void = () => {};
  let pause: ReturnType<typeof setTimeout> | undefined;

  const follow = () => {
    clearTimeout(pause);
    pause = undefined;
    const after = lastEventId;
    let isOver = false;
    const onEnded = (error: unknown) => {
      if (isOver) return;
      isOver = true;
      const code = errorCodeOf(error);
      if (code === "not_signed_in") noticeSignedOut();
      // A browser does not say why a stream was refused. The error of another query shows it.
      if (code === null) void queryClient.invalidateQueries({ queryKey: api.models.list.queryKey() });
      if (code !== null && !TEMPORARY.includes(code)) {
        listener.onState({ kind: "refused", error });
        return;
      }
      listener.onState(code === "too_many_concurrent_requests" ? { kind: "refused", error } : notLive());
      pause = setTimeout(follow, Math.min(MIN_PAUSE_MS * 2 ** failures++, MAX_PAUSE_MS));
    };
    const subscription = client.audit.tail.subscribe(
      { ...filters, ...(after === null ? {} : { lastEventId: after }) },
      {
        onConnectionStateChange: ({ state }) => {
          if (isOver) return;
          if (state === "connecting") listener.onState(notLive());
          if (state !== "pending") return;
          failures = 0;
          hasBeenLive = true;
          listener.onState({ kind: "live" });
          listener.onLive(lastEventId === null);
        },
        onData: ({ id, data }) => {
          lastEventId = id;
          listener.onNews(data);
        },
        onError: onEnded,
        onComplete: () => onEnded(null),
      },
    );
    leave = () => {
      isOver = true;
      subscription.unsubscribe();
    };
  };
  const notLive = (): TailState => ({ kind: hasBeenLive ? "reconnecting" : "connecting" });

  follow();
  // If another request finds that the service answers again, the log is followed at once, without the rest of the pause.
  const unwatch = connection.subscribe(() => {
    if (pause !== undefined && !connection.isLost()) follow();
  });
  return () => {
    unwatch();
    clearTimeout(pause);
    leave();
  };
}
