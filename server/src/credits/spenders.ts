import type { SpenderId } from "../contract/ids.ts";
import type { CreditStore } from "./credit-store.ts";

/** A spender that was not seen for this long counts as absent: its reserves will not be released soon. */
export const AWAY_MS = 60_000;

/** A start of a node that has reserved credit, as operators see it. */
export interface ListedSpender {
  /** The number of this start of the node, which `operator.nodes.release` takes. */
  readonly id: SpenderId;
  /** The id of the node, which it keeps when it is started again. */
  readonly nodeId: string;
  /** The host and process of the node, for people to read. */
  readonly label: string;
  /** When the node was last seen. */
  readonly seenAt: Date;
  /** Whether it has not been seen for a minute. Other nodes can't spend what it has reserved. */
  readonly isAway: boolean;
  /** The number of accounts whose credit it has reserved. */
  readonly accounts: number;
  /** The credit that it has reserved, in nano-USD. */
  readonly reservedNanoUsd: bigint;
}

/** The outcome of a release. */
export interface ReleasedSpender {
  /** The number of accounts whose credit was released. */
  readonly accounts: number;
  /** The released credit in nano-USD. */
  readonly amountNanoUsd: bigint;
}

/** A spender must have been unchanged for this long, by this node's clock, before it is released by time. */
const WATCHED_MS = 2 * 60_000;

interface UnseenReleaseParts {
  readonly store: Pick<CreditStore, "listUnseen" | "releaseUnseen">;
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
 * @returns a function to call about every half minute.
 */
export function releaseOfUnseen(parts: UnseenReleaseParts): () => Promise<void> {
  const { store, monotonicMs } = parts;
  const watched = new Map<SpenderId, { readonly seenAtMs: number; readonly sinceMs: number }>();
  return async () => {
    const unseen = await store.listUnseen(parts.unseenMs);
    const ids = new Set(unseen.map(({ id }) => id));
    for (const id of watched.keys()) if (!ids.has(id)) watched.delete(id);
    await forEach(unseen, async ({ id, seenAt }) => {
      const known = watched.get(id);
      if (known?.seenAtMs !== seenAt.getTime()) {
        watched.set(id, { seenAtMs: seenAt.getTime(), sinceMs: monotonicMs() });
      } else if (monotonicMs() - known.sinceMs >= WATCHED_MS) {
        const reason = "the node was absent for the configured time";
        const isReleased = await store.releaseUnseen(id, parts.unseenMs, reason);
        watched.delete(id);
        if (isReleased) parts.onReleased(id);
      }
    });
  };
}

interface ReleaseOfOthersParts {
  /** The spenders of other nodes. */
  others(): Promise<readonly SpenderId[]>;
  release(spender: SpenderId, reason: string): Promise<unknown>;
}

/**
 * Releases the credit of all other nodes, which have ended. Nodes that start after this call are not among them.
 *
 * @returns a function to call until it resolves: it rejects while another transaction keeps an account of one of them locked.
 */
export async function releaseOfOthers(
  store: ReleaseOfOthersParts,
  reason: string,
): Promise<() => Promise<void>> {
  const ended = new Set(await store.others());
  return () =>
    forEach(ended, async (spender) => {
      await store.release(spender, reason);
      ended.delete(spender);
    });
}

/** Works on items one after the other. One that fails does not keep the others from being worked on. @throws the first failure. */
async function forEach<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
