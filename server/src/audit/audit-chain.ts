import type { AccountId } from "../contract/account.ts";
import { atOneMoment, type Database, LONG_READ_TIMEOUT_MS } from "../database/database.ts";
import type { Reader, Reads } from "../database/reads.ts";
import { ANSWER_TIMEOUT_MS, withTimeout } from "../errors/deadline.ts";
import { StoredChain } from "./audit-chain-store.ts";
import type { Recorder } from "./recorder.ts";

/** A point in an account's chain of batches. Given later, it shows whether earlier entries were changed. */
export interface ChainPoint {
  /** The number of the batch, from 1. */
  readonly batch: number;
  /** The SHA-256 digest of the batch and those before it: 64 hexadecimal digits. */
  readonly digest: string;
}

export interface ChainProblem {
  /** The number of the batch, from 1. */
  readonly batch: number;
  /**
   * `changed`: its entries differ from those that were recorded. `entries_missing`, `entries_added`: their number differs too.
   * `batch_missing`: the batch itself is missing. `digest_differs`: the chain does not contain the expected point.
   */
  readonly problem: "changed" | "entries_missing" | "entries_added" | "batch_missing" | "digest_differs";
  /** The number of entries that the batch was recorded with; `null`: the batch is missing. */
  readonly recordedEntries: number | null;
  /** The number of entries that the database has of the batch. */
  readonly foundEntries: number;
}

export interface ChainReport {
  /** The last batch; `null`: nothing has been recorded. */
  readonly head: ChainPoint | null;
  /** Batches up to this one were deleted at the end of the plan's retention. 0: none. */
  readonly removedBatches: number;
  /** The number of batches that this call has verified. */
  readonly batches: number;
  /** The number of entries that this call has verified. */
  readonly entries: number;
  /** What was found wrong, up to 100 problems. Empty: nothing was changed. */
  readonly problems: readonly ChainProblem[];
  /** Pass it as `after` to verify the rest; `null`: everything is verified. */
  readonly next: number | null;
}

export interface ChainHead {
  readonly head: ChainPoint | null;
  readonly removedBatches: number;
}

/** About how many entries one call verifies. */
const MAX_VERIFIED = 100_000;
/** Entries that one transaction reads. Other reads of the database run in between. */
const SLICE = 10_000;
/** A chain that lacks many batches would otherwise make an endless list. */
const MAX_PROBLEMS = 100;

/**
 * Detects entries that were changed, removed or added after they were recorded: each batch's digest covers its entries and the
 * previous digest. An attacker who can write to the database can also compute a new chain; comparing it with a
 * point that was saved before shows that.
 */
export class AuditChain {
  readonly #database: Database;
  readonly #recorder: Recorder;
  readonly #reads: Reads;

  constructor(database: Database, recorder: Recorder, reads: Reads) {
    this.#database = database.withTimeout(LONG_READ_TIMEOUT_MS);
    this.#recorder = recorder;
    this.#reads = reads;
  }

  /**
   * Verifies about a hundred thousand entries of the chain.
   *
   * @param after the batch after which to begin; `null`: begin with the oldest.
   * @param expected a point that was saved before and that the chain must contain.
   * @throws {Failure} as {@link Reads.whole}.
   */
  async verify(
    accountId: AccountId,
    after: number | null,
    expected: ChainPoint | null,
    reader: Reader = accountId,
  ): Promise<ChainReport> {
    await withTimeout(ANSWER_TIMEOUT_MS, () => this.#recorder.flushed());
    return this.#reads.whole(reader, async (parts) => {
      const verify = (from: number | null, point: ChainPoint | null) =>
        parts.run(() =>
          atOneMoment(this.#database, (sql) => verifyStretch(new StoredChain(sql, accountId), from, point)),
        );
      let report = await verify(after, expected);
      // Batches may be recorded or deleted meanwhile: each slice begins where the previous one ended.
      while (report.next !== null && isUnfinished(report) && !parts.isSpent) {
        report = joined(report, await verify(report.next, null));
      }
      return report;
    });
  }
}

function isUnfinished({ entries, problems }: ChainReport): boolean {
  return entries + SLICE <= MAX_VERIFIED && problems.length < MAX_PROBLEMS;
}

/** Joins the reports of two consecutive slices. */
function joined(first: ChainReport, second: ChainReport): ChainReport {
  return {
    ...second,
    batches: first.batches + second.batches,
    entries: first.entries + second.entries,
    problems: [...first.problems, ...second.problems],
  };
}

async function verifyStretch(
  chain: StoredChain,
  after: number | null,
  expected: ChainPoint | null,
): Promise<ChainReport> {
  const chainHead = await chain.readHead();
  const { head, removedBatches } = chainHead;
  const problems: ChainProblem[] = [...(after === null ? await chain.findStrays(chainHead) : [])];
  if (expected !== null && expected.batch > removedBatches) {
    const digest = await chain.readDigest(expected.batch);
    if (digest !== expected.digest) {
      const { batch } = expected;
      problems.push({ batch, problem: "digest_differs", recordedEntries: null, foundEntries: 0 });
    }
  }
  const start = Math.max(after ?? 0, removedBatches);
  if (head === null || start >= head.batch) {
    return { head, removedBatches, batches: 0, entries: 0, problems, next: null };
  }
  const { last, entries } = await chain.stretch(start, SLICE);
  // If batches are missing at the end, the chain's head shows that they existed.
  const end = last <= start ? head.batch : Math.min(last, head.batch);
  problems.push(...(await chain.findProblems(start, end)));
  const next = end < head.batch ? end : null;
  return { head, removedBatches, batches: end - start, entries, problems, next };
}
