import type { Logger } from "pino";
import { Failure } from "../errors/failure.ts";
import type { AuditEntry } from "./entry.ts";
import type { Journal, JournalLine, Segment } from "./journal.ts";
import { replayJournal } from "./replay-journal.ts";

/** Where entries end up. */
export interface EntrySink {
  /** Inserts the entries in one transaction; those that are there already are passed over. */
  insertEntries(entries: readonly AuditEntry[]): Promise<void>;
}

/** Who is told of entries that are in the database, and so charged. */
export type OnCommitted = (entries: readonly AuditEntry[]) => void;

/** What a recorded entry has to survive before its request may end. */
export type Durability = "journal" | "disk" | "database";

/** About 200 MB of them. They are in the journal as well. */
const MOST_WAITING = 200_000;
const FULL_RETRY_MS = 5_000;
const BATCH_ENTRIES = 2_000;
/** Batches begin no oftener: what a small one costs the database and this process is nearly all in its beginning and its end. */
const BATCH_EVERY_MS = 100;
const RETRY_FIRST_MS = 100;
const RETRY_LAST_MS = 5_000;

export interface RecorderParts {
  readonly journal: Journal;
  readonly sink: EntrySink;
  readonly durability: Durability;
  readonly log: Logger;
  readonly onCommitted?: OnCommitted;
  /** Who is told of each entry as its request ends. */
  readonly onRecorded?: (entry: AuditEntry) => void;
  /** Who is told what a former process had answered, before anything else is done. */
  readonly onReplayed?: (entries: readonly AuditEntry[]) => Promise<void>;
  /** Entries that may wait for the database. */
  readonly mostWaiting?: number;
}

/** A request that has begun: it leaves an entry, come what may. */
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
  readonly #journal: Journal;
  readonly #sink: EntrySink;
  readonly #durability: Durability;
  readonly #log: Logger;
  readonly #onCommitted: OnCommitted;
  readonly #onRecorded: (entry: AuditEntry) => void;
  readonly #onReplayed: (entries: readonly AuditEntry[]) => Promise<void>;
  readonly #mostWaiting: number;
  #pending: Pending[] = [];
  #draining: Promise<void> | null = null;
  #retryTimer: { cancel(): void } | null = null;
  #stopped = false;
  /** Entries since the start: those taken, those in the database, and up to which somebody waits for them. */
  #recorded = 0;
  #committed = 0;
  #wanted = 0;
  #batchBegunMs = Number.NEGATIVE_INFINITY;
  /** Ends the pause between two batches. */
  #endPause: () => void = () => {};
  /** Who waits for the outcome of a batch. */
  #waiting: (() => void)[] = [];
  /** Batches that the database did not take. */
  #failures = 0;
  /** What the lines that came last are written with. */
  #appended: Appended | null = null;

  constructor({
    journal,
    sink,
    durability,
    log,
    onCommitted,
    onRecorded,
    onReplayed,
    mostWaiting,
  }: RecorderParts) {
    this.#journal = journal;
    this.#sink = sink;
    this.#durability = durability;
    this.#log = log;
    this.#onCommitted = onCommitted ?? (() => {});
    this.#onRecorded = onRecorded ?? (() => {});
    this.#onReplayed = onReplayed ?? (async () => {});
    this.#mostWaiting = mostWaiting ?? MOST_WAITING;
  }

  /** What waits for the database. */
  backlog(): Backlog {
    const [oldest] = this.#pending;
    return {
      entries: this.#pending.length,
      oldestMs: oldest === undefined ? 0 : Date.now() - oldest.sinceMs,
      failures: this.#failures,
      segments: this.#journal.segments,
    };
  }

  /**
   * To be asked before a request is served: with the database away for hours there comes a time when no more entries
   * can wait for it, and what can't be recorded must not be done.
   *
   * @throws {Failure} `server_is_overloaded`
   */
  requireRoom(): void {
    if (this.#pending.length < this.#mostWaiting) return;
    throw new Failure(
      "server_is_overloaded",
      "The service can't record more requests until its database is back. Try again later.",
      { retryAfterMs: FULL_RETRY_MS },
    );
  }

  /**
   * Sends what a former process left in the journal: see {@link replayJournal}. Harmless when the database has some of it
   * already.
   */
  async replay(leftover: readonly Segment[]): Promise<void> {
    const insert = async (entries: readonly AuditEntry[]) => {
      await this.#sink.insertEntries(entries);
      // A request that was lost with its process has answered nothing.
      await this.#onReplayed(entries.filter(({ endReason }) => endReason !== "node_lost"));
    };
    await replayJournal({ journal: this.#journal, insert, log: this.#log }, leftover);
  }

  /**
   * Writes down that a request has begun, with the entry that it leaves if this process dies: to be called before anything
   * of it can be seen by anybody.
   */
  begin(entry: AuditEntry): BegunRequest {
    return this.#append({ kind: "begun", entry });
  }

  /**
   * Resolves when the entry is as durable as configured: only then may the request's last bytes go out.
   *
   * @throws {Failure} `server_is_overloaded` when the entry can't be kept.
   */
  async record(entry: AuditEntry, begun: BegunRequest | null = null): Promise<void> {
    const segment = await this.#append({ kind: "ended", entry }).segment;
    this.#onRecorded(entry);
    // Lines are written in their order. One that could not be written is nowhere to be released.
    const beginning = begun?.writtenIn ?? null;
    const segments = beginning === null ? [segment] : [segment, beginning];
    this.#pending.push({ entry, segments, sinceMs: Date.now() });
    const taken = ++this.#recorded;
    this.#draining ??= this.#sendBatches();
    if (this.#durability !== "database") return;
    // While the database is away this waits with it: whoever asked for this durability wants no answer without it.
    while (this.#committed < taken) await this.#nextOutcome();
  }

  #append(line: JournalLine): Appended {
    const written = this.#journal.append(line);
    if (this.#appended?.written !== written) this.#appended = new Appended(written);
    return this.#appended;
  }

  /** Resolves when all that was recorded so far is in the database, or at once while the database is failing. */
  async flushed(): Promise<void> {
    const wanted = this.#recorded;
    this.#wanted = wanted;
    this.#endPause();
    while (this.#committed < wanted && this.#retryTimer === null && !this.#stopped) await this.#nextOutcome();
  }

  /** Writes what is left, as far as the database lets it; the journal keeps the rest for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endPause();
    this.#retryTimer?.cancel();
    this.#retryTimer = null;
    await this.#draining;
    await this.#drain();
    await this.#journal.close();
  }

  async #drain(): Promise<void> {
    if (this.#pending.length > 0) this.#draining ??= this.#sendBatches();
    await this.#draining;
  }

  async #sendBatches(): Promise<void> {
    try {
      for (let failures = 0; this.#pending.length > 0; ) {
        await this.#pause();
        const batch = this.#pending.slice(0, BATCH_ENTRIES);
        try {
          await this.#sink.insertEntries(batch.map(({ entry }) => entry));
        } catch (error) {
          this.#log.error(
            { err: error, waiting: this.#pending.length },
            "the database did not take audit entries",
          );
          this.#failures++;
          const retry = this.#stopped ? null : this.#waitBeforeRetry(failures++);
          this.#tellWaiting();
          if (retry === null) return;
          await retry;
          continue;
        }
        failures = 0;
        this.#pending = this.#pending.slice(batch.length);
        this.#committed += batch.length;
        this.#onCommitted(batch.map(({ entry }) => entry));
        this.#tellWaiting();
        await this.#release(batch);
      }
    } finally {
      // Here, where nothing can come between it and the last look at what is pending.
      this.#draining = null;
    }
  }

  /** Lets entries come together, unless somebody waits for them. */
  async #pause(): Promise<void> {
    const left = this.#batchBegunMs + BATCH_EVERY_MS - performance.now();
    const isWanted = this.#durability === "database" || this.#wanted > this.#committed;
    if (left > 0 && !isWanted && !this.#stopped && this.#pending.length < BATCH_ENTRIES) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#batchBegunMs = performance.now();
  }

  /** Resolves when a batch was tried, however it went. */
  #nextOutcome(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #tellWaiting(): void {
    for (const tell of this.#waiting.splice(0)) tell();
  }

  async #release(batch: readonly Pending[]): Promise<void> {
    const counts = new Map<Segment, number>();
    for (const segment of batch.flatMap(({ segments }) => segments))
      counts.set(segment, (counts.get(segment) ?? 0) + 1);
    for (const [segment, count] of counts) {
      await this.#journal.release(segment, count).catch((error: unknown) => {
        // Its entries are replayed at the next start, which is harmless.
        this.#log.error({ err: error, segment }, "a journal segment could not be deleted");
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

function notRecorded(cause: unknown): never {
  throw new Failure(
    "server_is_overloaded",
    "The service can't record requests just now. Try again shortly.",
    { retryAfterMs: 1_000, cause },
  );
}
