import { LRUCache } from "lru-cache";
import type { AccountId } from "../contract/account.ts";
import { Failure, isUnreachable, Unavailable } from "../errors/failure.ts";
import type { RequestSignal } from "../errors/request-signal.ts";
import { atMost } from "../resources/at-most.ts";
import { FairSemaphore, type NotAcquired } from "./fair-semaphore.ts";

/**
 * Whose budget a read uses: that of an account's keys and management tokens; that of its sessions, which must be able to find and
 * revoke a leaked key however it is used; or that of the operators.
 */
export type ReaderName = AccountId | `people of ${AccountId}` | "operators";

/** The name that a read counts for, and a signal that is aborted when its client has gone. */
export type Reader = ReaderName | { readonly name: ReaderName; readonly signal: RequestSignal };

/** Slices of reads that run at once: fewer than the database has connections for reads, which background jobs use too. */
const MAX_SLICES = 3;
const MAX_SLICES_OF_READER = 2;
/** A reader has one slice at a time; a second one may begin beside a slice that takes longer. */
const LONG_SLICE_MS = 1_000;
/**
 * A reader that has used more than {@link FREE_MS} of its budget rests after each slice, this many times as long as the slice took. Otherwise its
 * statements would take both processors of a small machine from everybody's requests for as long as the budget lasts.
 */
const REST_TIMES = 2;
const FREE_MS = 300;
const MAX_REST_MS = 500;
const LEFT = "the read was left";
const AWAY = "the database did not answer a read before this one";
const TOO_MANY = "Too many concurrent reads. Send fewer at a time.";
const MAX_READS_OF_READER = 2;
/** Pages of the dashboard ask for several things at once, and batches hold up to 20 calls. */
const MAX_WAITING_READS_OF_READER = 20;
const MAX_STREAMS_OF_READER = 5;
/** The minimum time that a slice counts as, however little the database did for it, because the node itself works about as long for a small read. */
const MIN_SLICE_MS = 5;
/** How long a read waits for earlier reads of the same reader. */
const READ_TIMEOUT_MS = 10_000;
/** How long a slice waits for its turn. */
const SLICE_TIMEOUT_MS = 10_000;
/** The database time that a reader may use at once. It refills within a minute. */
const BUDGET_MS = 30_000;
const REFILL = BUDGET_MS / 60_000;
/** A long statement may exceed the budget. The debt is limited to this. */
const MAX_DEBT_MS = BUDGET_MS;
const MAX_BUDGETS = 100_000;
const MIN_RETRY_MS = 1_000;

/** Why a read was refused: too many reads wait, its turn did not come in time, the budget is spent, or too many exports run. */
type ReadRefusal = Exclude<NotAcquired, "left" | "dismissed"> | "budget" | "streams";

/** Runs the slices of one read: its statements, or short transactions. Other readers get their turns between the slices. */
export interface ReadSlices {
  /** @throws {Failure | Unavailable} when its turn does not come in time. */
  run<Result>(slice: () => Promise<Result>): Promise<Result>;
  /** Whether the budget is spent, so that the read should answer with what it has. */
  isSpent(): boolean;
}

/** A read that lasts as long as its reader consumes the result. */
export interface StreamedRead {
  /** Runs a slice once the reader has budget. The slices of a stream run one after the other. @throws {Unavailable} once it has ended. */
  run<Result>(slice: () => Promise<Result>): Promise<Result>;
  /** Must be called when the read has ended: see {@link untilEnded}. A slice that still waits for its turn is not run. */
  end(): void;
}

/**
 * Shares the database's time between those who read much of it: pages of the audit log, exports, verification, sums of usage. Each
 * reader has a few reads at once and half a minute of the database's time a minute; slices of different readers' reads take turns. However
 * the reads come (REST, procedures, the dashboard), they are counted together, by this node.
 */
export class Reads {
  readonly #monotonicMs: () => number;
  readonly #reads = new FairSemaphore({
    max: Number.POSITIVE_INFINITY,
    maxOfName: MAX_READS_OF_READER,
    maxWaitingOfName: MAX_WAITING_READS_OF_READER,
  });
  /** Whose turn it is among the slices of the same reader. A turn lasts until the reader has rested. */
  readonly #ownSlices = new FairSemaphore({
    max: Number.POSITIVE_INFINITY,
    maxOfName: 1,
    maxWaitingOfName: Number.POSITIVE_INFINITY,
  });
  readonly #slices = new FairSemaphore({
    max: MAX_SLICES,
    maxOfName: MAX_SLICES_OF_READER,
    maxWaitingOfName: Number.POSITIVE_INFINITY,
  });
  /** How many streams of each reader have begun and not ended. */
  readonly #streams = new Map<ReaderName, number>();
  readonly #budgets = new LRUCache<ReaderName, { readonly leftMs: number; readonly atMs: number }>(
    atMost(MAX_BUDGETS),
  );
  readonly #refused = new Map<ReadRefusal, number>(
    (["waiting", "timeout", "budget", "streams"] as const).map((reason) => [reason, 0]),
  );

  /** `monotonicMs`: milliseconds of a clock that never jumps. */
  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Reads that were refused since the node was started, by reason. */
  get refused(): ReadonlyMap<ReadRefusal, number> {
    return this.#refused;
  }

  /** Reads that wait, for those of their reader before them or for a turn. */
  get waiting(): number {
    return this.#reads.waiting + this.#ownSlices.waiting + this.#slices.waiting;
  }

  /**
   * Reads something that is answered as a whole.
   *
   * @throws {Failure} `rate_limit_exceeded` when the reader has too many reads at once, or has spent its time;
   *   `server_is_overloaded` when those of others leave no turn.
   * @throws {Unavailable} when the reader's signal is aborted: slices that have not begun are not run.
   */
  async whole<Result>(reader: Reader, read: (slices: ReadSlices) => Promise<Result>): Promise<Result> {
    const name = nameOf(reader);
    const signal = typeof reader === "string" ? null : reader.signal;
    this.#requireTime(name);
    const end = await this.#reads.acquire(name, READ_TIMEOUT_MS, signal);
    if (typeof end === "string") throw this.#notAcquired(end);
    try {
      // Earlier reads may have spent the budget meanwhile.
      this.#requireTime(name);
      return await read({
        run: (slice) => this.#run(name, slice, signal),
        isSpent: () => this.#leftMs(name) <= 0,
      });
    } finally {
      end();
    }
  }

  /** Reads with one statement or one short transaction. @throws as {@link whole}. */
  inOneSlice<Result>(reader: Reader, read: () => Promise<Result>): Promise<Result> {
    return this.whole(reader, ({ run }) => run(read));
  }

  /**
   * Begins a read that lasts as long as its reader receives it. Its slices wait for time instead of being refused.
   *
   * @throws {Failure} `rate_limit_exceeded` when the reader has several of them already, or has spent its time.
   */
  stream(reader: ReaderName): StreamedRead {
    this.#requireTime(reader);
    const running = this.#streams.get(reader) ?? 0;
    if (running >= MAX_STREAMS_OF_READER) {
      const message = `Limit of ${MAX_STREAMS_OF_READER} concurrent exports reached. Retry when one of them has ended.`;
      throw this.#refuse("streams", message);
    }
    this.#streams.set(reader, running + 1);
    let hasEnded = false;
    let leave = () => {};
    return {
      run: (slice) =>
        new Promise((resolve, reject) => {
          leave = () => reject(new Unavailable(LEFT));
          if (hasEnded) return leave();
          this.paced(reader, async () => {
            // Its turn may come after the end.
            if (!hasEnded) resolve(await slice());
          }).catch(reject);
        }),
      end: () => {
        if (hasEnded) return;
        hasEnded = true;
        leave();
        const left = (this.#streams.get(reader) ?? 1) - 1;
        if (left === 0) this.#streams.delete(reader);
        else this.#streams.set(reader, left);
      },
    };
  }

  /** Runs one slice of an endless read once the reader has budget. */
  async paced<Result>(reader: Reader, slice: () => Promise<Result>): Promise<Result> {
    const name = nameOf(reader);
    for (let waitMs = this.#untilTimeMs(name); waitMs > 0; waitMs = this.#untilTimeMs(name))
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    return this.#run(name, slice, null);
  }

  async #run<Result>(
    reader: ReaderName,
    slice: () => Promise<Result>,
    signal: RequestSignal | null,
  ): Promise<Result> {
    const endOwn = await this.#ownSlices.acquire(reader, SLICE_TIMEOUT_MS, signal);
    if (typeof endOwn === "string") throw this.#notAcquired(endOwn);
    const own = new OwnTurn(endOwn);
    const end = await this.#slices.acquire(reader, SLICE_TIMEOUT_MS, signal);
    if (typeof end === "string") {
      own.endAfter(0);
      if (end !== "timeout" || this.#slices.holdersOf(reader) > 0) throw this.#notAcquired(end);
      throw new Unavailable("others' reads left no turn in time");
    }
    const startMs = this.#monotonicMs();
    const untilLong = setTimeout(() => own.endAfter(0), LONG_SLICE_MS);
    let isAway = false;
    try {
      return await slice();
    } catch (error) {
      // A reader does not pay for an unavailable store.
      isAway = isUnreachable(error);
      // Those who wait would only find out one after the other what this slice has found out, each after its own deadline.
      if (isAway)
        for (const waiting of [this.#reads, this.#ownSlices, this.#slices]) waiting.dismissWaiting();
      throw error;
    } finally {
      clearTimeout(untilLong);
      end();
      const tookMs = Math.max(MIN_SLICE_MS, this.#monotonicMs() - startMs);
      if (!isAway) this.#spend(reader, tookMs);
      const hasToRest = !isAway && this.#leftMs(reader) < BUDGET_MS - FREE_MS;
      own.endAfter(hasToRest ? Math.min(REST_TIMES * tookMs, MAX_REST_MS) : 0);
    }
  }

  #requireTime(reader: ReaderName): void {
    const untilMs = this.#untilTimeMs(reader);
    if (untilMs === 0) return;
    throw this.#refuse(
      "budget",
      "The account has used its read budget for this minute. Wait, or read less: a shorter period, or smaller pages.",
      untilMs,
    );
  }

  #notAcquired(reason: NotAcquired): Failure | Unavailable {
    if (reason === "left") return new Unavailable(LEFT);
    if (reason === "dismissed") return new Unavailable(AWAY);
    return this.#refuse(reason, TOO_MANY);
  }

  #refuse(reason: ReadRefusal, message: string, retryAfterMs = MIN_RETRY_MS): Failure {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    return new Failure("rate_limit_exceeded", message, {
      retryAfterMs: Math.max(MIN_RETRY_MS, retryAfterMs),
    });
  }

  #leftMs(reader: ReaderName): number {
    const budget = this.#budgets.get(reader);
    if (budget === undefined) return BUDGET_MS;
    return Math.min(BUDGET_MS, budget.leftMs + (this.#monotonicMs() - budget.atMs) * REFILL);
  }

  #untilTimeMs(reader: ReaderName): number {
    const leftMs = this.#leftMs(reader);
    // The wait covers some budget, so that a reader does not retry for each millisecond.
    return leftMs > 0 ? 0 : Math.ceil((MIN_RETRY_MS * REFILL - leftMs) / REFILL);
  }

  #spend(reader: ReaderName, ms: number): void {
    const leftMs = Math.max(-MAX_DEBT_MS, this.#leftMs(reader) - ms);
    this.#budgets.set(reader, { leftMs, atMs: this.#monotonicMs() });
  }
}

function nameOf(reader: Reader): ReaderName {
  return typeof reader === "string" ? reader : reader.name;
}

/**
 * Returns the same items. Calls `onEnd` once, when they have ended or are left: by their reader, even before the first item, or when the
 * signal is aborted, also while the next item is awaited. Items that are left by the signal do not end, but fail with {@link Unavailable},
 * so that they are not mistaken for complete.
 */
export function untilEnded<Item>(
  items: AsyncIterableIterator<Item>,
  onEnd: () => void,
  signal: RequestSignal | null = null,
): AsyncIterableIterator<Item> {
  let isEnded = false;
  let isLeft = false;
  const end = () => {
    if (isEnded) return;
    isEnded = true;
    onEnd();
  };
  const leave = () => {
    isLeft = !isEnded;
    end();
  };
  if (signal?.aborted === true) leave();
  else signal?.addEventListener("abort", leave);
  const iterator: AsyncIterableIterator<Item> = {
    next: async () => {
      let isOver = true;
      try {
        const result = await items.next();
        if (isLeft) throw new Unavailable(LEFT);
        isOver = result.done === true;
        return result;
      } finally {
        if (isOver) end();
      }
    },
    return: async () => {
      end();
      return (await items.return?.()) ?? { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/** A reader's turn among its own slices. It ends once: what comes after the first {@link endAfter} changes nothing. */
class OwnTurn {
  #end: (() => void) | null;

  constructor(end: () => void) {
    this.#end = end;
  }

  endAfter(ms: number): void {
    const end = this.#end;
    this.#end = null;
    if (ms > 0 && end !== null) setTimeout(end, ms);
    else end?.();
  }
}
