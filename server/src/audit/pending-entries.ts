import type { AccountId } from "../contract/account.ts";
import type { AuditEntry } from "../contract/entry.ts";
import { batchesOf } from "../database/insert-all.ts";
import type { Segment } from "../journal/segment-names.ts";

/** An entry that is in the journal, and not yet in the database. */
export interface PendingEntry {
  readonly entry: AuditEntry;
  /** The segments of its line and of the line of its beginning. */
  readonly segments: readonly [Segment, ...Segment[]];
  readonly sinceMs: number;
  /** Whether the database has refused it for its content. */
  isRefused: boolean;
}

/** The entries that wait for the database, in the order of recording, and how many each account has. */
export class PendingEntries {
  #entries: PendingEntry[] = [];
  readonly #counts = new Map<AccountId, number>();

  /** The number of entries of all accounts. */
  get size(): number {
    return this.#entries.length;
  }

  /** The entry that has waited longest; `undefined` if none waits. */
  get oldest(): PendingEntry | undefined {
    return this.#entries[0];
  }

  /** The number of an account's entries. */
  countOf(accountId: AccountId): number {
    return this.#counts.get(accountId) ?? 0;
  }

  add(pending: PendingEntry): void {
    const { accountId } = pending.entry;
    this.#entries.push(pending);
    this.#counts.set(accountId, this.countOf(accountId) + 1);
  }

  /** The first entries, as many as are inserted together. They stay until {@link remove}. */
  nextBatch(): readonly PendingEntry[] {
    const [batch = []] = batchesOf(this.#entries, answerLength);
    return batch;
  }

  /** Removes a batch, which are the first entries. */
  remove(batch: readonly PendingEntry[]): void {
    this.#entries = this.#entries.slice(batch.length);
    for (const { entry } of batch) {
      const left = this.countOf(entry.accountId) - 1;
      if (left > 0) this.#counts.set(entry.accountId, left);
      else this.#counts.delete(entry.accountId);
    }
  }
}

/** The length of the answer to an idempotency key, which may be a megabyte. */
function answerLength({ entry }: PendingEntry): number {
  return entry.idempotency?.answer?.text.length ?? 0;
}
