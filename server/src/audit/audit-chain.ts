import type { AccountId } from "../contract/account.ts";
import { atOneMoment, type Database, LONG_READ_TIMEOUT_MS } from "../database/database.ts";
import type { Reader, Reads } from "../database/reads.ts";
import { ANSWER_TIMEOUT_MS, withTimeout } from "../errors/deadline.ts";
import { StoredChain } from "./audit-chain-store.ts";
import type { Recorder } from "./recorder.ts";

/** A place in an account's chain of batches. Who notes it down can tell later whether what came before was touched. */
export interface ChainPoint {
  /** From 1 up. */
  readonly batch: number;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
}

export interface ChainProblem {
  readonly batch: number;
  /**
   * `changed`: its entries are not those that were recorded; `entries_missing`, `entries_added`: nor is their number.
   * `batch_missing`: the batch itself is gone. `digest_differs`: the chain is another than the one it is compared with.
   */
  readonly problem: "changed" | "entries_missing" | "entries_added" | "batch_missing" | "digest_differs";
  readonly recordedEntries: number | null;
  readonly foundEntries: number;
}

export interface ChainReport {
  /** How far the chain has come. `null`: nothing has been recorded. */
  readonly head: ChainPoint | null;
  /** Batches up to this one were removed when they were as old as the plan keeps them. */
  readonly removedBatches: number;
  /** What has been verified by this call. */
  readonly batches: number;
  readonly entries: number;
  readonly problems: readonly ChainProblem[];
  /** To be passed as `after` to verify the rest; `null` when all has been. */
  readonly next: number | null;
}

export interface ChainHead {
  readonly head: ChainPoint | null;
  readonly removedBatches: number;
}

/** Entries that one call verifies, or some more. */
const MAX_VERIFIED = 100_000;
/** Of them, those that are read at one moment: the database is free for others in between. */
const SLICE = 10_000;
/** A chain of which whole stretches are gone has no end of problems. */
const MAX_PROBLEMS = 100;

/**
 * Finds what was changed, removed or put into an account's entries after they were recorded: each batch's digest covers its
 * entries and the digest before it. Whoever can write to the database can also compute a new chain from the changed
 * place on; that shows against a point that was noted down before.
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
   * Verifies a stretch of the chain, some hundred thousand entries at a time.
   *
   * @param after the batch after which to begin; `null`: with the oldest there is.
   * @param expected a point that was noted down: the chain must still run through it.
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
      // Batches that are recorded or removed meanwhile make no difference: each slice begins where the one before has ended.
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

/** Two slices that follow each other, as one. */
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
  // Where batches are missing at the end, the chain's head tells that there were some.
  const end = last <= start ? head.batch : Math.min(last, head.batch);
  problems.push(...(await chain.findProblems(start, end)));
  const next = end < head.batch ? end : null;
  return { head, removedBatches, batches: end - start, entries, problems, next };
}
