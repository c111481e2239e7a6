import type { Logger } from "pino";
import type { AccountId } from "../contract/account.ts";
import type { AuditEntry } from "../contract/entry.ts";
import { BATCH_ITEMS, type Inserted, insertAll, type Refused } from "../database/insert-all.ts";
import { ANSWER_TIMEOUT_MS, type Pause, pauseFor, resultWithin, withTimeout } from "../errors/deadline.ts";
import { Failure, isUnreachable, Unavailable } from "../errors/failure.ts";
import { reasonOf } from "../errors/problems.ts";
import type { Journal } from "../journal/journal.ts";
import type { AppendedLine } from "../journal/journal-write.ts";
import { rejectEntries, replayJournal } from "../journal/replay-journal.ts";
import type { Segment } from "../journal/segment-names.ts";
import { BatchPacing } from "./batch-pacing.ts";
import { PendingEntries, type PendingEntry } from "./pending-entries.ts";

export interface InsertOptions {
  /** Whether some of the entries are likely to exist already. They are skipped in any case, and faster if this is set. Default `false`. */
  readonly mayExist?: boolean;
}

/** The database, as the recorder writes to it. */
export interface EntrySink {
  /** Inserts the entries, charges them, and stores the answers that they carry, in one transaction. Skips entries that exist already. */
  insertEntries(entries: readonly AuditEntry[], options?: InsertOptions): Promise<void>;
}

/** Called with entries that are in the database, and so charged. */
export type OnCommitted = (entries: readonly AuditEntry[]) => void;

/** Where an entry must be stored before its request may end. */
export type Durability = "journal" | "disk" | "database";

/** The maximum of pending entries, about 200 MB. They are in the journal as well. */
const MAX_PENDING = 200_000;
/**
 * An account may have this many times as many pending entries as there is free capacity. So there is always capacity for other accounts,
 * and a single one may use three quarters of all.
 */
const MAX_PENDING_TO_FREE = 3;
const FULL_RETRY_MS = 5_000;
/** A failed batch is inserted again after this time, which doubles up to the maximum. */
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;
/** How long an answer waits for its entry to be in the database, if it has to. */
const STORED_TIMEOUT_MS = 5_000;

export interface RecorderParts {
  readonly journal: Journal;
  readonly sink: EntrySink;
  readonly durability: Durability;
  readonly log: Logger;
  readonly onCommitted?: OnCommitted;
  /** Called with entries that the database refuses, once their lines are in a file of rejected lines. */
  readonly onRejected?: (entries: readonly AuditEntry[]) => void;
  /** Called with each entry as its request ends. */
  readonly onRecorded?: (entry: AuditEntry) => void;
  /** The maximum number of entries that wait for the database. */
  readonly maxPending?: number;
}

/** An entry that is in the journal. */
export interface Recorded {
  /**
   * Resolves when the entry is as durable as configured and other nodes know its idempotent answer; `null`: it is already.
   * Rejects with a {@link Failure} if the database has to confirm the entry and does not do so in time.
   */
  readonly stored: Promise<void> | null;
}

const IN_JOURNAL: Recorded = { stored: null };

export interface Backlog {
  readonly entries: number;
  /** How long the oldest entry has waited, by a clock that never jumps. */
  readonly oldestMs: number;
  /** The number of batches whose insert failed. */
  readonly failures: number;
  /** Files of the journal. */
  readonly segments: number;
}

/**
 * Writes the entries of ended requests to the journal at once and to the database in batches. While the database is down,
 * entries wait in the journal. A segment is dropped when all its entries are committed.
 */
export class Recorder {
  readonly #parts: RecorderParts;
  readonly #pending = new PendingEntries();
  readonly #pacing = new BatchPacing(() => this.#stopped || this.#pending.size >= BATCH_ITEMS);
  /** Set while batches are sent to the database. */
  #sending: Promise<void> | null = null;
  /** Set while the recorder waits to retry a failed batch. */
  #retryPause: Pause | null = null;
  #stopped = false;
  /**
   * The number of entries recorded since the start, and of those that are no longer pending: committed, or refused for their content. Entries are
   * numbered from 1 in the order of recording.
   */
  #recorded = 0;
  #processed = 0;
  /** Called when the next batch was committed or failed. */
  #outcomeListeners: (() => void)[] = [];
  #failures = 0;
  /** Whether the last batch failed. */
  #isFailing = false;
  /** Whether the last failure was that the database could not be reached. */
  #isUnreachable = false;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  /** The entries that wait for the database. */
  backlog(): Backlog {
    const { oldest, size } = this.#pending;
    return {
      entries: size,
      oldestMs: oldest === undefined ? 0 : Math.round(performance.now() - oldest.sinceMs),
      failures: this.#failures,
      segments: this.#parts.journal.segments,
    };
  }

  /**
   * Call it before a request is served: a request that can't be recorded must be refused. That happens when the database was
   * down for hours; with the durability `database`, as soon as it is down.
   *
   * @throws {Failure} `server_is_overloaded`
   */
  requireCapacity(): void {
    this.#requireCapacity(0);
  }

  /** As {@link requireCapacity}, once the account is known: the entries of one account must not take the capacity of all others. */
  requireCapacityFor(accountId: AccountId): void {
    this.#requireCapacity(this.#pending.countOf(accountId));
  }

  #requireCapacity(pendingOfAccount: number): void {
    const isUnconfirmable = this.#parts.durability === "database" && this.#isFailing;
    const free = (this.#parts.maxPending ?? MAX_PENDING) - this.#pending.size;
    if (free > 0 && pendingOfAccount <= MAX_PENDING_TO_FREE * free && !isUnconfirmable) return;
    throw new Failure(
      "server_is_overloaded",
      "The service cannot record more requests until its database is available again. Try again later.",
      { retryAfterMs: FULL_RETRY_MS },
    );
  }

  /**
   * Records what an earlier process left in the journal: see {@link replayJournal}. Entries that the database has already are
   * skipped.
   */
  async replay(leftover: readonly Segment[]): Promise<void> {
    const { journal, sink, log } = this.#parts;
    await replayJournal(
      { journal, log, insert: (entries) => sink.insertEntries(entries, { mayExist: true }) },
      leftover,
    );
  }

  /**
   * Records that a request has begun, with the entry that it leaves if this process dies. Call it before anything of the
   * request leaves the process.
   */
  begin(entry: AuditEntry): AppendedLine {
    return this.#parts.journal.append({ kind: "begun", entry });
  }

  /**
   * Resolves when the entry is in the journal: from then on it will be recorded and charged. The request's last bytes may
   * be sent when it is `stored`, too.
   *
   * @throws {Failure} `server_is_overloaded` if the entry can't be written. Then it is not recorded.
   */
  async record(entry: AuditEntry, begun: AppendedLine | null = null): Promise<Recorded> {
    const segment = await this.#parts.journal.append({ kind: "ended", entry }).whenWritten;
    this.#parts.onRecorded?.(entry);
    // Lines are written in order, so the beginning is known by now. A line that could not be written has no segment to release.
    const beginning = begun?.writtenIn ?? null;
    const segments: PendingEntry["segments"] = beginning === null ? [segment] : [segment, beginning];
    const pending: PendingEntry = { entry, segments, sinceMs: performance.now(), isRefused: false };
    this.#pending.add(pending);
    const number = ++this.#recorded;
    this.#sending ??= this.#sendBatches();
    if (this.#parts.durability === "database") return { stored: this.#untilConfirmed(number, pending) };
    return entry.idempotency === undefined ? IN_JOURNAL : { stored: this.#untilAnswerAttempted(number) };
  }

  /** Waits until the database has the entry. @throws {Failure} `server_is_overloaded` if it does not confirm it in time, or refuses it. */
  async #untilConfirmed(number: number, pending: PendingEntry): Promise<void> {
    const isTried = await resultWithin(STORED_TIMEOUT_MS, this.#untilProcessed(number));
    if (isTried === null || pending.isRefused) throw notConfirmed();
  }

  /**
   * Waits until the answer to an idempotency key is in the database, where other nodes find it. This mostly takes
   * milliseconds. If it takes longer, the answer waits in the journal.
   */
  async #untilAnswerAttempted(number: number): Promise<void> {
    this.#pacing.hasten(number);
    await resultWithin(STORED_TIMEOUT_MS, this.#untilAttempted(number));
  }

  /** Resolves when the entries up to this number are committed, or refused for their content. */
  async #untilProcessed(number: number): Promise<true> {
    this.#pacing.hasten(number);
    while (this.#processed < number) await this.#nextOutcome();
    return true;
  }

  /** Resolves when the entries up to this number are committed, or while the database is failing. */
  async #untilAttempted(number: number): Promise<void> {
    while (this.#processed < number && this.#retryPause === null && !this.#stopped) await this.#nextOutcome();
  }

  /**
   * Resolves when everything recorded so far of an account is in the database. `null`: of all accounts. What follows may list entries: none
   * that was recorded before is missing, except those that the database has refused for their content.
   *
   * @throws {Unavailable} after 5 seconds, or when the insert that it waited for failed, for whatever reason: what others retry is complete
   *   later, and what they take for complete never is.
   */
  async flushed(accountId: AccountId | null): Promise<void> {
    if (!this.#hasPending(accountId)) return;
    const last = this.#recorded;
    const before = this.#failures;
    this.#pacing.hastenForRead(last);
    await withTimeout(ANSWER_TIMEOUT_MS, async () => {
      while (this.#processed < last && this.#failures === before) await this.#nextOutcome();
    });
    if (this.#processed < last)
      throw new Unavailable("the database has not recorded the latest requests yet");
  }

  /**
   * As {@link flushed}, but resolves at once while inserts fail. For sums and times of last use, which may be shown without the latest requests.
   *
   * @throws {Unavailable} after 5 seconds: there may be a long backlog; or when the insert that it waited for did not reach the database:
   *   a read that followed would wait in vain for as long again.
   */
  async attempted(accountId: AccountId | null): Promise<void> {
    if (!this.#hasPending(accountId)) return;
    this.#pacing.hastenForRead(this.#recorded);
    const before = this.#failures;
    await withTimeout(ANSWER_TIMEOUT_MS, () => this.#untilAttempted(this.#recorded));
    if (this.#failures > before && this.#isUnreachable) throw new Unavailable("the database is unreachable");
  }

  /** A reader without requests of its own must not make the batches of the others small. */
  #hasPending(accountId: AccountId | null): boolean {
    return accountId === null ? this.#pending.size > 0 : this.#pending.countOf(accountId) > 0;
  }

  /** Inserts the remaining entries if the database accepts them. The journal keeps the rest for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pacing.checkAgain();
    this.#retryPause?.end();
    this.#retryPause = null;
    await this.#sending;
    if (this.#pending.size > 0) this.#sending ??= this.#sendBatches();
    await this.#sending;
    await this.#parts.journal.close();
  }

  async #sendBatches(): Promise<void> {
    try {
      for (let failures = 0; this.#pending.size > 0; ) {
        await this.#pacing.untilNext(this.#processed);
        const batch = this.#pending.nextBatch();
        let outcome: Inserted<PendingEntry>;
        try {
          outcome = await insertAll(batch, (part) =>
            this.#parts.sink.insertEntries(part.map(({ entry }) => entry)),
          );
        } catch (error) {
          this.#countFailure(error);
          const retry = this.#stopped ? null : this.#waitBeforeRetry(failures++);
          this.#announceOutcome();
          if (retry === null) return;
          await retry;
          continue;
        }
        failures = 0;
        this.#countProcessed(batch, outcome);
        const rejected = await this.#reject(outcome.refused);
        await this.#release([...outcome.inserted, ...rejected]);
      }
    } finally {
      // Nothing runs between the last check of the pending entries and this line.
      this.#sending = null;
    }
  }

  #countFailure(error: unknown): void {
    const logged = { ...reasonOf(error), waiting: this.#pending.size };
    // An outage is logged once, however often the batch is tried.
    if (!this.#isFailing) this.#parts.log.error(logged, "inserting audit entries into the database failed");
    this.#failures++;
    this.#isFailing = true;
    this.#isUnreachable = isUnreachable(error);
  }

  /** Counts the entries of a batch that is no longer pending, including those that the database refuses, for which nothing waits any longer. */
  #countProcessed(batch: readonly PendingEntry[], { inserted, refused }: Inserted<PendingEntry>): void {
    if (this.#isFailing) this.#parts.log.info("inserting audit entries into the database works again");
    this.#isFailing = false;
    this.#pending.remove(batch);
    for (const { item } of refused) item.isRefused = true;
    this.#processed += batch.length;
    this.#parts.onCommitted?.(inserted.map(({ entry }) => entry));
    this.#announceOutcome();
  }

  /**
   * Rejects entries that the database refuses for their content, so that they do not block later ones. If their lines can't be
   * written, they stay in their segments for the next start.
   *
   * @returns the entries that were rejected.
   */
  async #reject(refused: readonly Refused<PendingEntry>[]): Promise<readonly PendingEntry[]> {
    const entries = refused.map(({ item, reason }) => ({
      segment: item.segments[0],
      entry: item.entry,
      reason,
    }));
    try {
      await rejectEntries(this.#parts, entries);
      this.#parts.onRejected?.(entries.map(({ entry }) => entry));
      return refused.map(({ item }) => item);
    } catch (error) {
      const logged = { ...reasonOf(error), entries: entries.length };
      this.#parts.log.error(logged, "rejected entries cannot be written to the journal folder");
      return [];
    }
  }

  /** Resolves when the next batch was committed or failed. */
  #nextOutcome(): Promise<void> {
    return new Promise((resolve) => {
      this.#outcomeListeners.push(resolve);
    });
  }

  #announceOutcome(): void {
    for (const resolve of this.#outcomeListeners.splice(0)) resolve();
  }

  async #release(batch: readonly PendingEntry[]): Promise<void> {
    const counts = new Map<Segment, number>();
    for (const segment of batch.flatMap(({ segments }) => segments))
      counts.set(segment, (counts.get(segment) ?? 0) + 1);
    for (const [segment, count] of counts) {
      await this.#parts.journal.release(segment, count).catch((error: unknown) => {
        // The entries are replayed at the next start, which is harmless.
        this.#parts.log.error({ ...reasonOf(error), segment }, "a journal segment could not be deleted");
      });
    }
  }

  async #waitBeforeRetry(failures: number): Promise<void> {
    this.#retryPause = pauseFor(Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS));
    await this.#retryPause.over;
    this.#retryPause = null;
  }
}

function notConfirmed(): Failure {
  return new Failure(
    "server_is_overloaded",
    "The answer is complete, but the database did not confirm its record in time. The request may have been charged: look for its id in the audit log before you send it again.",
    { retryAfterMs: 5_000, headers: { "x-should-retry": "false" } },
  );
}
