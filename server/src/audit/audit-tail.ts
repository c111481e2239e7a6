import type { AccountId } from "../contract/account.ts";
import type { ListedEntry } from "../contract/entry.ts";
import type { Reader, Reads } from "../database/reads.ts";
import { pauseFor } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import { latestOfMost } from "../resources/make-room.ts";
import type { PostgresAuditReader } from "./audit-reader.ts";
import type { AsOf } from "./cursor.ts";
import type { EntryFilter } from "./filter.ts";

/** What has been recorded since the previous news. */
export interface TailNews {
  /** Pass it as `after` to continue after this. */
  readonly upTo: AsOf;
  /** In the order of their recording. */
  readonly entries: readonly ListedEntry[];
  /** How many more there were, at most ten thousand. */
  readonly skipped: number;
  /** Whether earlier entries were left out: the follower was away for too long, or the database was restored meanwhile. */
  readonly hasGap: boolean;
}

const MAX_POLL_INTERVAL_MS = 1_000;
/** A thousand batches a second must not cause a thousand polls. */
const MIN_POLL_INTERVAL_MS = 100;
const QUIET_MS = 5_000;
const ENTRIES_AT_ONCE = 200;
/** A follower that was away for longer has to read pages. */
const MAX_BATCHES_BACK = 1_000n;
const MAX_FOLLOWERS = 2_000;
const MAX_FOLLOWERS_OF_ACCOUNT = 50;

/** What a client follows. */
interface FollowRequest {
  readonly accountId: AccountId;
  readonly filter: EntryFilter;
  /** {@link TailNews.upTo} of the last news that the client has; `null`: only what is recorded from now on. */
  readonly after: AsOf | null;
  /** Whose read budget the news use. */
  readonly reader: Reader;
}

type TailSource = Pick<PostgresAuditReader, "asOf" | "heads" | "listRecorded" | "removed">;

interface Follower {
  readonly accountId: AccountId;
  head: AsOf;
  wake: () => void;
  /** Whether it was ended, so that a client of another account may follow. */
  isDismissed: boolean;
}

/**
 * Streams what any node records to clients that follow an account's audit log. One poll of the database serves all followers,
 * once a second and when this node has recorded something.
 */
export class AuditTail {
  readonly #entries: TailSource;
  readonly #reads: Pick<Reads, "paced">;
  readonly #maxFollowers: number;
  readonly #followers = new Set<Follower>();
  #polling: Promise<void> | null = null;
  #pollNow: () => void = () => {};
  /** Whether this node has recorded entries that the last poll may not have seen. */
  #hasRecorded = false;
  #closed = false;

  constructor(entries: TailSource, reads: Pick<Reads, "paced">, maxFollowers = MAX_FOLLOWERS) {
    this.#entries = entries;
    this.#reads = reads;
    this.#maxFollowers = maxFollowers;
  }

  /** Call it when this node has recorded entries: the next poll is brought forward. */
  recorded(): void {
    this.#hasRecorded = true;
    this.#pollNow();
  }

  /** Ends all generators of {@link follow} with a failure that makes their clients reconnect. */
  close(): void {
    this.#closed = true;
    for (const follower of this.#followers) follower.wake();
    this.#pollNow();
  }

  /**
   * Yields news of an account's log until `signal` is aborted, and `null` after a while without news, so that the caller
   * can check whether the client is still authorized. A new follower gets news without entries at once: it tells where to continue if the
   * connection is lost before the first entry.
   *
   * @throws {Failure} `too_many_concurrent_requests` if too many clients follow already, or if this one has to make room for another account.
   */
  async *follow(
    { accountId, filter, after, reader }: FollowRequest,
    signal: AbortSignal,
  ): AsyncGenerator<TailNews | null> {
    this.#requireRoom(accountId);
    const follower: Follower = {
      accountId,
      head: 0n as AsOf,
      wake: () => {},
      isDismissed: false,
    };
    const stop = () => follower.wake();
    signal.addEventListener("abort", stop);
    this.#followers.add(follower);
    try {
      const head = await this.#entries.asOf(accountId);
      const { batches: removed } = await this.#entries.removed(accountId);
      const beginning = beginningOf(after, head, removed);
      let { seen, hasGap } = beginning;
      follower.head = head;
      if (beginning.isNew) {
        yield { upTo: head, entries: [], skipped: 0, hasGap };
        hasGap = false;
      }
      this.#polling ??= this.#poll().finally(() => {
        this.#polling = null;
      });
      while (!signal.aborted && !this.#closed && !follower.isDismissed) {
        const upTo = follower.head;
        if (upTo > seen) {
          const from = seen;
          const news = await this.#reads.paced(reader, () =>
            this.#entries.listRecorded(accountId, filter, { after: from, upTo }, ENTRIES_AT_ONCE),
          );
          seen = upTo;
          yield { upTo, hasGap, ...news };
          hasGap = false;
        } else {
          const pause = pauseFor(QUIET_MS);
          follower.wake = pause.end;
          if (!(await pause.over)) yield null;
        }
      }
      if (follower.isDismissed) throw tooManyFollowers();
      // A failure, not an end: the follower reconnects, to another node or to this one after its restart.
      if (this.#closed) {
        const message = "The service is stopping. Reconnect.";
        throw new Failure("server_is_overloaded", message, { retryAfterMs: 1_000 });
      }
    } finally {
      this.#followers.delete(follower);
      signal.removeEventListener("abort", stop);
    }
  }

  /**
   * If too many clients follow, the latest of the account that has the most is ended for an account that has fewer, so that some accounts do not keep
   * others from following.
   */
  #requireRoom(accountId: AccountId): void {
    const followers = [...this.#followers];
    const ofAccount = followers.filter((follower) => follower.accountId === accountId);
    if (ofAccount.length >= MAX_FOLLOWERS_OF_ACCOUNT) throw tooManyFollowers();
    if (followers.length < this.#maxFollowers) return;
    const latest = latestOfMost(followers, (follower) => follower.accountId, accountId);
    if (latest === null) throw tooManyFollowers();
    this.#followers.delete(latest);
    latest.isDismissed = true;
    latest.wake();
  }

  async #poll(): Promise<void> {
    while (this.#followers.size > 0 && !this.#closed) {
      await this.#pause();
      this.#hasRecorded = false;
      const accounts = [...new Set([...this.#followers].map(({ accountId }) => accountId))];
      // While the database is down there is no news.
      const heads = await this.#entries.heads(accounts).catch(() => new Map<AccountId, AsOf>());
      for (const follower of this.#followers) {
        const head = heads.get(follower.accountId);
        if (head === undefined || head <= follower.head) continue;
        follower.head = head;
        follower.wake();
      }
    }
  }

  async #pause(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, MIN_POLL_INTERVAL_MS));
    if (this.#closed || this.#hasRecorded) return;
    const pause = pauseFor(MAX_POLL_INTERVAL_MS - MIN_POLL_INTERVAL_MS);
    this.#pollNow = pause.end;
    await pause.over;
  }
}

/**
 * Where a follower begins: at the head of the log if it is new, or else after the batches that it has seen, as far as they are not too far back
 * and the later ones are not deleted.
 */
function beginningOf(
  after: AsOf | null,
  head: AsOf,
  removed: bigint,
): { readonly seen: AsOf; readonly hasGap: boolean; readonly isNew: boolean } {
  // In a database that was restored, the numbers of batches come again. So a number that is not reached yet says nothing about what was seen.
  if (after === null || after > head) return { seen: head, hasGap: after !== null, isNew: true };
  const farthest = head - MAX_BATCHES_BACK;
  const oldest = (farthest > removed ? farthest : removed) as AsOf;
  const hasGap = after < oldest;
  return { seen: hasGap ? oldest : after, hasGap, isNew: false };
}

function tooManyFollowers(): Failure {
  return new Failure(
    "too_many_concurrent_requests",
    "Too many clients are following the audit log. Close some of them, or read the log page by page.",
    { retryAfterMs: 5_000 },
  );
}
