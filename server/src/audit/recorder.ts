import type { Logger } from "pino";
import type { AuditEntry } from "../contract/entry.ts";
import { resultWithin } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import { type Inserted, insertAll, type Refused } from "./insert-all.ts";
import type { Journal, JournalLine, Segment } from "./journal.ts";
import { replayJournal, setEntriesAside } from "./replay-journal.ts";

/** Where entries end up. */
export interface EntrySink {
  /**
   * Inserts the entries, charges them, and keeps the answers that they carry, in one transaction. Those that are there
   * already are passed over.
   */
  insertEntries(entries: readonly AuditEntry[]): Promise<void>;
}

/** Who is told of entries that are in the database, and so charged. */
export type OnCommitted = (entries: readonly AuditEntry[]) => void;

/** What a recorded entry has to survive before its request may end. */
export type Durability = "journal" | "disk" | "database";

/** About 200 MB of them. They are in the journal as well. */
const MAX_WAITING = 200_000;
const FULL_RETRY_MS = 5_000;
const BATCH_ENTRIES = 2_000;
/** Of answers to idempotency keys, which the entries of a batch carry. */
const BATCH_CHARACTERS = 8 * 1024 * 1024;
/** Batches begin no oftener: what a small one costs the database and this process is nearly all in its beginning and its end. */
const BATCH_EVERY_MS = 100;
const RETRY_FIRST_MS = 100;
const RETRY_LAST_MS = 5_000;
/** How long an answer waits for its entry to be in the database, where it waits for that. */
const STORED_TIMEOUT_MS = 5_000;

export interface RecorderParts {
  readonly journal: Journal;
  readonly sink: EntrySink;
  readonly durability: Durability;
  readonly log: Logger;
  readonly onCommitted?: OnCommitted;
  /** Who is told of entries that the database refuses, once their lines are set aside in the journal. */
  readonly onSetAside?: (entries: readonly AuditEntry[]) => void;
  /** Who is told of each entry as its request ends. */
  readonly onRecorded?: (entry: AuditEntry) => void;
  /** Entries that may wait for the database. */
  readonly maxWaiting?: number;
}

/** An entry that is in the journal. */
export interface Recorded {
  /**
   * Resolves when it is as durable as configured, and its answer, if it has one to be kept, is known to all nodes; `null`:
   * it is. Rejects with a {@link Failure} when the database does not confirm it in time where it has to.
   */
  readonly stored: Promise<void> | null;
}

const IN_JOURNAL: Recorded = { stored: null };

/** A request that has begun: it leaves an entry, whatever happens. */
export interface BegunRequest {
  /** Where it was written down that it has begun. Rejects with a {@link Failure} when it could not be. */
  readonly segment: Promise<Segment>;
  /** The same, once it is known; `null` also when it could not be written down. */
  readonly writtenIn: Segment | null;
}

export interface Backlog {
  readonly entries: number;
  /** For how long the oldest of them has waited. */
  readonly oldestMs: number;
  /** Batches that the database did not take, so far. */
  readonly failures: number;
  /** Files of the journal. */
  readonly segments: number;
}

interface Pending {
  readonly entry: AuditEntry;
  /** Of its line, and of the one that told of its beginning. */
  readonly segments: readonly Segment[];
  readonly sinceMs: number;
}

/**
 * Takes entries from ended requests to the journal at once, and from there to the database in batches. While the
 * database is away entries wait in the journal; a segment is dropped when all of its entries are committed.
 */
export class Recorder {
  readonly #parts: RecorderParts;
  #pending: Pending[] = [];
  #draining: Promise<void> | null = null;
  #retryTimer: { cancel(): void } | null = null;
  #stopped = false;
  /** Entries since the start: those taken, those in the database, and up to which somebody waits for them. */
  #recorded = 0;
  #committed = 0;
  #awaited = 0;
  #batchStartedMs = Number.NEGATIVE_INFINITY;
  /** Ends the pause between two batches. */
  #endPause: () => void = () => {};
  /** Who waits for the outcome of a batch. */
  #waiting: (() => void)[] = [];
  /** Batches that the database did not take. */
  #failures = 0;
  /** Whether the last batch was one of them. */
  #isFailing = false;
  /** What the lines that came last are written with. */
  #appended: Appended | null = null;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  /** What waits for the database. */
  backlog(): Backlog {
    const [oldest] = this.#pending;
    return {
      entries: this.#pending.length,
      oldestMs: oldest === undefined ? 0 : Date.now() - oldest.sinceMs,
      failures: this.#failures,
      segments: this.#parts.journal.segments,
    };
  }

  /**
   * To be asked before a request is served: what can't be recorded must not be done. With the database away for hours
   * there comes a time when no more entries can wait for it; where entries count only once they are in it, at once.
   *
   * @throws {Failure} `server_is_overloaded`
   */
  requireRoom(): void {
    const isUnconfirmable = this.#parts.durability === "database" && this.#isFailing;
    if (this.#pending.length < (this.#parts.maxWaiting ?? MAX_WAITING) && !isUnconfirmable) return;
    throw new Failure(
      "server_is_overloaded",
      "The service cannot record more requests until its database is available again. Try again later.",
      { retryAfterMs: FULL_RETRY_MS },
    );
  }

  /**
   * Sends what a former process left in the journal: see {@link replayJournal}. Harmless when the database has some of it
   * already.
   */
  async replay(leftover: readonly Segment[]): Promise<void> {
    const { journal, sink, log } = this.#parts;
    await replayJournal({ journal, log, insert: (entries) => sink.insertEntries(entries) }, leftover);
  }

  /**
   * Writes down that a request has begun, with the entry that it leaves if this process dies: to be called before anything
   * of it can be seen by anybody.
   */
  begin(entry: AuditEntry): BegunRequest {
    return this.#append({ kind: "begun", entry });
  }

  /**
   * Resolves when the entry is in the journal: from then on it is recorded and charged, whatever happens. The request's
   * last bytes may go out when it is `stored`, too.
   *
   * @throws {Failure} `server_is_overloaded` when the entry can't be written. Then it is not recorded.
   */
  async record(entry: AuditEntry, begun: BegunRequest | null = null): Promise<Recorded> {
    const segment = await this.#append({ kind: "ended", entry }).segment;
    this.#parts.onRecorded?.(entry);
    // Lines are written in their order. One that could not be written is nowhere to be released.
    const beginning = begun?.writtenIn ?? null;
    const segments = beginning === null ? [segment] : [segment, beginning];
    this.#pending.push({ entry, segments, sinceMs: Date.now() });
    const taken = ++this.#recorded;
    this.#draining ??= this.#sendBatches();
    if (this.#parts.durability === "database") return { stored: this.#requireCommitted(taken) };
    return entry.keyed === undefined ? IN_JOURNAL : { stored: this.#tried(taken) };
  }

  /** @throws {Failure} `server_is_overloaded` when the database does not confirm the entry in time. */
  async #requireCommitted(taken: number): Promise<void> {
    const isConfirmed = await resultWithin(STORED_TIMEOUT_MS, this.#committedUpTo(taken));
    if (isConfirmed === null) throw notConfirmed();
  }

  /**
   * Other nodes know the answer to an idempotency key once it is in the database: mostly within milliseconds. The journal
   * keeps it if the database takes longer.
   */
  async #tried(taken: number): Promise<void> {
    this.#startBatch(taken);
    await resultWithin(STORED_TIMEOUT_MS, this.#triedUpTo(taken));
  }

  async #committedUpTo(taken: number): Promise<true> {
    this.#startBatch(taken);
    while (this.#committed < taken) await this.#nextOutcome();
    return true;
  }

  /** Resolves when the entries are committed, or while the database is failing. */
  async #triedUpTo(taken: number): Promise<true> {
    while (this.#committed < taken && this.#retryTimer === null && !this.#stopped) await this.#nextOutcome();
    return true;
  }

  /** Has a batch begin at once. */
  #startBatch(taken: number): void {
    this.#awaited = Math.max(this.#awaited, taken);
    this.#endPause();
  }

  #append(line: JournalLine): Appended {
    const written = this.#parts.journal.append(line);
    if (this.#appended?.written !== written) this.#appended = new Appended(written);
    return this.#appended;
  }

  /** Resolves when all that was recorded so far is in the database, or at once while the database is failing. */
  async flushed(): Promise<void> {
    this.#startBatch(this.#recorded);
    await this.#triedUpTo(this.#recorded);
  }

  /** Writes what is left, as far as the database lets it; the journal keeps the rest for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endPause();
    this.#retryTimer?.cancel();
    this.#retryTimer = null;
    await this.#draining;
    await this.#drain();
    await this.#parts.journal.close();
  }

  async #drain(): Promise<void> {
    if (this.#pending.length > 0) this.#draining ??= this.#sendBatches();
    await this.#draining;
  }

  async #sendBatches(): Promise<void> {
    try {
      for (let failures = 0; this.#pending.length > 0; ) {
        await this.#pause();
        const batch = this.#nextBatch();
        let outcome: Inserted<Pending>;
        try {
          outcome = await insertAll(batch, (part) =>
            this.#parts.sink.insertEntries(part.map(({ entry }) => entry)),
          );
        } catch (error) {
          this.#parts.log.error(
            { err: error, waiting: this.#pending.length },
            "inserting audit entries into the database failed",
          );
          this.#failures++;
          this.#isFailing = true;
          const retry = this.#stopped ? null : this.#waitBeforeRetry(failures++);
          this.#resolveWaiting();
          if (retry === null) return;
          await retry;
          continue;
        }
        failures = 0;
        this.#isFailing = false;
        this.#pending = this.#pending.slice(batch.length);
        this.#committed += batch.length;
        this.#parts.onCommitted?.(outcome.inserted.map(({ entry }) => entry));
        this.#resolveWaiting();
        const aside = await this.#setAside(outcome.refused);
        await this.#release([...outcome.inserted, ...aside]);
      }
    } finally {
      // Here, where nothing can come between it and the last look at what is pending.
      this.#draining = null;
    }
  }

  /**
   * Keeps entries apart that the database refuses for their content, so that they don't hold up those that come after.
   * Where that fails they stay in their segments, for the next start.
   *
   * @returns those that are kept apart.
   */
  async #setAside(refused: readonly Refused<Pending>[]): Promise<readonly Pending[]> {
    const entries = refused.flatMap(({ item: { entry, segments }, reason }) =>
      segments[0] === undefined ? [] : [{ segment: segments[0], entry, reason }],
    );
    try {
      await setEntriesAside(this.#parts, entries);
      this.#parts.onSetAside?.(entries.map(({ entry }) => entry));
      return refused.map(({ item }) => item);
    } catch (error) {
      this.#parts.log.error(
        { err: error, entries: entries.length },
        "rejected entries cannot be written to the journal folder",
      );
      return [];
    }
  }

  /** The oldest of what waits: so many entries, and fewer where they carry long answers. */
  #nextBatch(): readonly Pending[] {
    let characters = 0;
    let size = 0;
    for (; size < BATCH_ENTRIES && size < this.#pending.length; size++) {
      characters += this.#pending[size]?.entry.keyed?.answer?.text.length ?? 0;
      if (characters > BATCH_CHARACTERS && size > 0) break;
    }
    return this.#pending.slice(0, size);
  }

  /** Lets entries come together, unless somebody waits for them. */
  async #pause(): Promise<void> {
    const left = this.#batchStartedMs + BATCH_EVERY_MS - performance.now();
    const isAwaited = this.#awaited > this.#committed;
    if (left > 0 && !isAwaited && !this.#stopped && this.#pending.length < BATCH_ENTRIES) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#batchStartedMs = performance.now();
  }

  /** Resolves when a batch was tried, however it went. */
  #nextOutcome(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #resolveWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #release(batch: readonly Pending[]): Promise<void> {
    const counts = new Map<Segment, number>();
    for (const segment of batch.flatMap(({ segments }) => segments))
      counts.set(segment, (counts.get(segment) ?? 0) + 1);
    for (const [segment, count] of counts) {
      await this.#parts.journal.release(segment, count).catch((error: unknown) => {
        // Its entries are replayed at the next start, which is harmless.
        this.#parts.log.error({ err: error, segment }, "a journal segment could not be deleted");
      });
    }
  }

  #waitBeforeRetry(failures: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#retryTimer = null;
        resolve();
      };
      const timer = setTimeout(done, Math.min(RETRY_FIRST_MS * 2 ** failures, RETRY_LAST_MS));
      this.#retryTimer = {
        cancel: () => {
          clearTimeout(timer);
          done();
        },
      };
    });
  }
}

/** Lines that the journal writes together. */
class Appended implements BegunRequest {
  /** As the journal promised it. */
  readonly written: Promise<Segment>;
  readonly segment: Promise<Segment>;
  writtenIn: Segment | null = null;

  constructor(written: Promise<Segment>) {
    this.written = written;
    this.segment = written.then((segment) => {
      this.writtenIn = segment;
      return segment;
    }, notRecorded);
    // Whoever waits for it is told of a failure; of those who don't, each is told by `record`.
    this.segment.catch(() => {});
  }
}

function notConfirmed(): Failure {
  return new Failure(
    "server_is_overloaded",
    "The answer is complete, but the database did not confirm its record in time. The request may have been charged: look for its id in the audit log before you send it again.",
    { retryAfterMs: 5_000, headers: { "x-should-retry": "false" } },
  );
}

function notRecorded(cause: unknown): never {
  throw new Failure(
    "server_is_overloaded",
    "The service cannot record requests at the moment. Try again shortly.",
    { retryAfterMs: 1_000, cause },
  );
}
