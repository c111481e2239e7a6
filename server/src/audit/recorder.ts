import type { Logger } from "pino";
import type { AccountId } from "../contract/account.ts";
import type { AuditEntry } from "../contract/entry.ts";
import { type Inserted, insertAll } from "../database/insert-all.ts";
import { type Pause, pauseFor, resultWithin, withAnswerTimeout } from "../errors/deadline.ts";
import { Failure, isUnreachable, Unavailable } from "../errors/failure.ts";
import { reasonOf } from "../errors/problems.ts";
import type { Journal } from "../journal/journal.ts";
import type { AppendedLine } from "../journal/journal-write.ts";
import { replayJournal } from "../journal/replay-journal.ts";
import type { Segment } from "../journal/segment-names.ts";
import { BatchPacing } from "./batch-pacing.ts";
import type { EntrySink } from "./entry-sink.ts";
import { LeftOut } from "./left-out.ts";
import { type PendingBatch, PendingEntries, type PendingEntry } from "./pending-entries.ts";
import { rejectPending, releaseLines } from "./pending-lines.ts";
import { UnwrittenEntries } from "./unwritten-entries.ts";

/** Called with entries that are in the database, and so charged. */
type OnCommitted = (entries: readonly AuditEntry[]) => void;

/** Where an entry must be stored before its request may end. */
type Durability = "journal" | "disk" | "database";

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
/** The maximum number of locked accounts that the log names. */
const MAX_NAMED = 10;

export interface RecorderParts {
  readonly journal: Journal;
  readonly sink: EntrySink;
  readonly durability: Durability;
  readonly log: Logger;
  readonly onCommitted?: OnCommitted;
  /** Called with entries that the database refuses, once their lines are in a file of rejected lines. */
  readonly onRejected?: (entries: readonly AuditEntry[]) => void;
  /** Called with entries that an earlier process has left, if they wait for locked accounts. */
  readonly onLeftByEarlier?: (entries: readonly AuditEntry[]) => void;
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

interface Backlog {
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
  readonly #pacing = new BatchPacing(this.#pending);
  /** Set while batches are sent to the database. */
  #sending: Promise<void> | null = null;
  /** Set while the recorder waits to retry a failed batch. */
  #retryPause: Pause | null = null;
  #stopped = false;
  /** The number of entries recorded since the start. Entries are numbered from 1 in the order of recording. */
  #recorded = 0;
  /** How many of them, the first ones, an earlier process left. */
  #leftByEarlier = 0;
  /** Called when the next batch was committed or failed. */
  #outcomeListeners: (() => void)[] = [];
  #failures = 0;
  /** Whether the last batch failed. */
  #isFailing = false;
  /** Whether the last failure was that the database could not be reached. */
  #isUnreachable = false;
  /** Whether some accounts were locked at the last batch. */
  #areSomeLocked = false;
  readonly #unwritten = new UnwrittenEntries();

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
   * Call it before a request is served, and again once its account is known: a request that can't be recorded must be refused. That happens when the
   * database was down for hours; with the durability `database`, as soon as it is down. The entries of one account must not take the capacity of all
   * others, so an account is refused earlier.
   *
   * @throws {Failure} `server_is_overloaded`
   */
  requireCapacity(accountId: AccountId | null = null): void {
    const pendingOfAccount = accountId === null ? 0 : this.#pending.countOf(accountId);
    const isUnconfirmable =
      this.#parts.durability === "database" &&
      (this.#isFailing || (accountId !== null && this.#pending.isLocked(accountId)));
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
   * skipped. Those of locked accounts are recorded later, before others of their accounts: a start must not wait for one account.
   */
  async replay(leftover: readonly Segment[]): Promise<void> {
    const { journal, sink, log } = this.#parts;
    const left = new LeftOut();
    const lines = await replayJournal(
      {
        journal,
        log,
        insert: (entries) => left.insert(entries, (free) => sink.insertEntries(free, { mayExist: true })),
        isLeftOut: (entry) => left.entries.has(entry),
      },
      leftover,
    );
    if (lines.length === 0) return;
    for (const { entry, segment } of lines) this.#addPending(entry, [segment]);
    this.#leftByEarlier = this.#recorded;
    const entries = lines.map(({ entry }) => entry);
    this.#keepApart(entries);
    this.#parts.onLeftByEarlier?.(entries);
    this.#sending ??= this.#sendBatches();
  }

  /** Whether entries that an earlier process left wait for the database. */
  get owesEarlierEntries(): boolean {
    return (this.#pending.oldest?.number ?? Number.POSITIVE_INFINITY) <= this.#leftByEarlier;
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
    // Lines are written in order, so the beginning is known by now. A line that could not be written has no segment to release.
    const pending = this.#addWritten(entry, segment, begun?.writtenIn ?? null);
    if (this.#parts.durability === "database") return { stored: this.#untilConfirmed(pending) };
    return entry.idempotency === undefined ? IN_JOURNAL : { stored: this.#untilAnswerAttempted(pending) };
  }

  /** Records a request that could not be recorded as soon as the journal can be written again, if its beginning is there: see {@link UnwrittenEntries}. */
  recordLater(entry: AuditEntry, begun: AppendedLine | null): void {
    this.#unwritten.add(entry, begun);
  }

  /** Records what {@link recordLater} was called with. Call it about every second, when the journal can be written. */
  recordUnwritten(): Promise<void> {
    return this.#unwritten.write(this.#parts.journal, (entry, segment, beginning) => {
      this.#addWritten(entry, segment, beginning);
    });
  }

  /** Adds an entry whose line is in the journal to those that wait for the database. `beginning`: the segment of the other line of its request. */
  #addWritten(entry: AuditEntry, segment: Segment, beginning: Segment | null): PendingEntry {
    this.#parts.onRecorded?.(entry);
    const pending = this.#addPending(entry, beginning === null ? [segment] : [segment, beginning]);
    // Until now there may have been only entries of locked accounts.
    if (this.#pending.queued === 1) this.#pacing.checkAgain();
    this.#sending ??= this.#sendBatches();
    return pending;
  }

  #addPending(entry: AuditEntry, segments: PendingEntry["segments"]): PendingEntry {
    const number = ++this.#recorded;
    const pending: PendingEntry = { entry, segments, sinceMs: performance.now(), number, state: "pending" };
    this.#pending.add(pending);
    return pending;
  }

  /** Waits until the database has the entry. @throws {Failure} `server_is_overloaded` if it does not confirm it in time, or refuses it. */
  async #untilConfirmed(pending: PendingEntry): Promise<void> {
    await resultWithin(STORED_TIMEOUT_MS, this.#untilProcessed(pending));
    if (pending.state !== "recorded") throw notConfirmed(pending.entry);
  }

  /**
   * Waits until the answer to an idempotency key is in the database, where other nodes find it. This mostly takes
   * milliseconds. If it takes longer, the answer waits in the journal.
   */
  async #untilAnswerAttempted(pending: PendingEntry): Promise<void> {
    this.#pacing.hasten(pending.number);
    await resultWithin(
      STORED_TIMEOUT_MS,
      this.#untilAttempted(pending.entry.accountId, () => pending.state !== "pending"),
    );
  }

  /** Resolves when the entry is committed, or refused for its content. */
  async #untilProcessed(pending: PendingEntry): Promise<void> {
    this.#pacing.hasten(pending.number);
    while (pending.state === "pending") await this.#nextOutcome();
  }

  /** Resolves when entries are committed, or while their insert fails. */
  async #untilAttempted(accountId: AccountId | null, isCommitted: () => boolean): Promise<void> {
    while (!isCommitted() && this.#retryPause === null && !this.#stopped) {
      if (accountId !== null && this.#pending.isLocked(accountId)) return;
      await this.#nextOutcome();
    }
  }

  /**
   * Hastens the insert of everything recorded so far of an account, and resolves when it is in the database. `null`: of all accounts. What
   * follows may list entries: none that was recorded before is missing, except those that the database has refused for their content.
   *
   * @throws {Unavailable} after 5 seconds, or when the insert that it waited for failed, for whatever reason, or left the account out: what
   *   others retry is complete later, and what they take for complete never is.
   */
  async flush(accountId: AccountId | null): Promise<void> {
    if (!this.#hasPending(accountId)) return;
    const last = this.#recorded;
    const before = this.#failures;
    const isRecorded = this.#recordedCheck(accountId, () => this.#pending.oldest?.number);
    this.#pacing.hastenForRead(last);
    await withAnswerTimeout(async () => {
      while (!isRecorded() && this.#failures === before) {
        await this.#nextOutcome();
        if (this.#pending.isLocked(accountId)) break;
      }
    });
    if (!isRecorded()) throw new Unavailable("the database has not recorded the latest requests yet");
  }

  /**
   * As {@link flush}, but resolves at once while inserts fail, or the account is locked. For sums and times of last use, which may be shown
   * without the latest requests.
   *
   * @throws {Unavailable} after 5 seconds: there may be a long backlog; or when the insert that it waited for did not reach the database:
   *   a read that followed would wait in vain for as long again.
   */
  async tryFlush(accountId: AccountId | null): Promise<void> {
    if (!this.#hasPending(accountId)) return;
    this.#pacing.hastenForRead(this.#recorded);
    const before = this.#failures;
    const isRecorded = this.#recordedCheck(accountId, () => this.#pending.firstQueued);
    await withAnswerTimeout(() => this.#untilAttempted(accountId, isRecorded));
    if (this.#failures > before && this.#isUnreachable) throw new Unavailable("the database is unreachable");
  }

  /** Whether everything recorded so far of an account is no longer pending. Of all accounts: by the number of the first entry that is. */
  #recordedCheck(accountId: AccountId | null, firstPending: () => number | null | undefined): () => boolean {
    const last = this.#recorded;
    if (accountId === null) return () => (firstPending() ?? Number.POSITIVE_INFINITY) > last;
    const lastOfAccount = this.#pending.lastOf(accountId);
    return () => lastOfAccount?.state !== "pending";
  }

  /** A reader without requests of its own must not make the batches of the others small. */
  #hasPending(accountId: AccountId | null): boolean {
    return accountId === null ? this.#pending.size > 0 : this.#pending.countOf(accountId) > 0;
  }

  /** Inserts the remaining entries if the database accepts them. The journal keeps the rest for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pacing.stop();
    this.#retryPause?.end();
    this.#retryPause = null;
    await this.recordUnwritten();
    await this.#sending;
    if (this.#pending.size > 0) this.#sending ??= this.#sendBatches();
    await this.#sending;
    await this.#parts.journal.close();
  }

  async #sendBatches(): Promise<void> {
    try {
      for (let failures = 0; this.#pending.size > 0; ) {
        await this.#pacing.untilNext((this.#pending.firstQueued ?? this.#recorded + 1) - 1);
        const batch = this.#pending.nextBatch();
        let outcome: Inserted<PendingEntry>;
        try {
          outcome = await this.#insert(batch);
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
        const rejected = await rejectPending(this.#parts, outcome.refused);
        await releaseLines(this.#parts, [...outcome.inserted, ...rejected]);
        // The journal keeps the entries of locked accounts.
        if (this.#stopped && this.#pending.queued === 0 && batch.areLocked) return;
      }
    } finally {
      // Nothing runs between the last check of the pending entries and this line.
      this.#sending = null;
    }
  }

  /** Inserts a batch. Entries of locked accounts are in neither list of the outcome. */
  async #insert({ entries, areLocked }: PendingBatch): Promise<Inserted<PendingEntry>> {
    const left = new LeftOut();
    const locked = areLocked ? "skip" : "leave";
    const { inserted, refused } = await insertAll(entries, (part) =>
      left.insert(
        part.map(({ entry }) => entry),
        (free) => this.#parts.sink.insertEntries(free, { locked }),
      ),
    );
    return { inserted: inserted.filter(({ entry }) => !left.entries.has(entry)), refused };
  }

  #countFailure(error: unknown): void {
    const logged = { ...reasonOf(error), waiting: this.#pending.size };
    // An outage is logged once, however often the batch is tried.
    if (!this.#isFailing) this.#parts.log.error(logged, "inserting audit entries into the database failed");
    this.#failures++;
    this.#isFailing = true;
    this.#isUnreachable = isUnreachable(error);
  }

  /**
   * Counts the entries of a batch that are no longer pending, including those that the database refuses, for which nothing waits any longer. The
   * others are of locked accounts.
   */
  #countProcessed({ entries }: PendingBatch, { inserted, refused }: Inserted<PendingEntry>): void {
    const { log, onCommitted } = this.#parts;
    if (this.#isFailing) log.info("inserting audit entries into the database works again");
    this.#isFailing = false;
    for (const pending of inserted) pending.state = "recorded";
    for (const { item } of refused) item.state = "refused";
    this.#pending.remove(entries.filter(({ state }) => state !== "pending"));
    this.#keepApart(entries.filter(({ state }) => state === "pending").map(({ entry }) => entry));
    onCommitted?.(inserted.map(({ entry }) => entry));
    this.#announceOutcome();
  }

  /** Keeps the entries of the accounts of which some were left out apart from the others. */
  #keepApart(left: readonly AuditEntry[]): void {
    const { log } = this.#parts;
    this.#pending.keepApart(new Set(left.map(({ accountId }) => accountId)));
    const accounts = this.#pending.lockedAccounts;
    const areSomeLocked = accounts.length > 0;
    // As for an outage, the log has the beginning and the end.
    if (areSomeLocked && !this.#areSomeLocked) {
      log.error(
        { accounts: accounts.slice(0, MAX_NAMED), waiting: left.length },
        "audit entries of accounts wait, because another transaction has locked rows of these accounts",
      );
    } else if (!areSomeLocked && this.#areSomeLocked) {
      log.info("audit entries of locked accounts are recorded again");
    }
    this.#areSomeLocked = areSomeLocked;
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

  async #waitBeforeRetry(failures: number): Promise<void> {
    this.#retryPause = pauseFor(Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS));
    await this.#retryPause.over;
    this.#retryPause = null;
  }
}

function notConfirmed({ status }: AuditEntry): Failure {
  const isAnswered = status < 400;
  const message = isAnswered
    ? "The answer is complete, but the database did not confirm its record in time. The request may have been charged: look for its id in the audit log before you send it again."
    : "The request has failed, and the database did not confirm its record in time. Try again shortly.";
  return new Failure("server_is_overloaded", message, {
    retryAfterMs: 5_000,
    headers: isAnswered ? { "x-should-retry": "false" } : {},
  });
}
