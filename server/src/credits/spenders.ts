import type { SpenderId } from "../contract/ids.ts";
import type { CreditStore } from "./credit-store.ts";

/** A life of a node that has credit set aside, as operators see it. */
export interface ListedSpender {
  readonly id: SpenderId;
  readonly nodeId: string;
  /** For people: host and process. */
  readonly label: string;
  readonly seenAt: Date;
  /** Whether it has not been seen for a minute: what it has set aside can't be spent by other nodes. */
  readonly isAway: boolean;
  /** Accounts of which it has credit set aside. */
  readonly accounts: number;
  readonly reservedNanoUsd: bigint;
}

/** What a release has made free. */
export interface ReleasedSpender {
  readonly accounts: number;
  readonly amountNanoUsd: bigint;
}

/** For so long a spender must have shown no sign of use, by this node's own clock, before it is released by time. */
const WATCHED_MS = 2 * 60_000;

export interface ReleaseParts {
  readonly store: Pick<CreditStore, "listUnseen" | "release">;
  /** How long a spender must not have been seen, by the database's clock. */
  readonly unseenMs: number;
  readonly monotonicMs: () => number;
  readonly onReleased: (spender: SpenderId) => void;
}

/**
 * Releases the credit of nodes that do not return. Both clocks have to agree: the database's says that the spender was
 * not seen for the configured time, and this node has watched it unchanged for two minutes, so that a clock that jumps
 * releases nothing that is in use.
 *
 * @returns a function to be called every half a minute or so.
 */
export function releaseOfUnseen({
  store,
  unseenMs,
  monotonicMs,
  onReleased,
}: ReleaseParts): () => Promise<void> {
  const watched = new Map<SpenderId, { readonly seenAtMs: number; readonly sinceMs: number }>();
  return async () => {
    const unseen = await store.listUnseen(unseenMs);
    const ids = new Set(unseen.map(({ id }) => id));
    for (const id of watched.keys()) if (!ids.has(id)) watched.delete(id);
    for (const { id, seenAt } of unseen) {
      const known = watched.get(id);
      if (known?.seenAtMs !== seenAt.getTime()) {
        watched.set(id, { seenAtMs: seenAt.getTime(), sinceMs: monotonicMs() });
      } else if (monotonicMs() - known.sinceMs >= WATCHED_MS) {
        await store.release(id, "the node was absent for the configured time");
        watched.delete(id);
        onReleased(id);
      }
    }
  };
}
