import type { AccountId } from "../contract/account.ts";
import type { AuditEntry } from "../contract/entry.ts";
import { batchesOf } from "../database/insert-all.ts";
import type { Segment } from "../journal/segment-names.ts";

/** Entries of locked accounts are tried again at this interval. */
export const LOCKED_RETRY_MS = 1_000;
/** The maximum number of locked accounts that are tried together. Each may take as long as the database waits for a lock. */
const MAX_RETRIED = 20;

/** An entry that is in the journal, and not yet in the database. */
export interface PendingEntry {
  readonly entry: AuditEntry;
  /** The segments of its line and of the line of its beginning. */
  readonly segments: readonly [Segment, ...Segment[]];
  readonly sinceMs: number;
  /** Its number in the order of recording, from 1. */
  readonly number: number;
  /** `refused`: the database has refused it for its content. */
  state: "pending" | "recorded" | "refused";
}

/** Entries that are sent to the database together. */
export interface PendingBatch {
  readonly entries: readonly PendingEntry[];
  /** Whether their accounts were locked when they were sent before. */
  readonly areLocked: boolean;
}

/**
 * The entries that wait for the database, those of an account in the order of recording. Entries of accounts whose rows are locked are kept
 * apart, so that the others do not wait with them.
 */
export class PendingEntries {
  /** Entries of accounts that are not known to be locked. */
  #queue: PendingEntry[] = [];
  /** Entries of locked accounts. The account that was tried last is the last one. */
  readonly #locked = new Map<AccountId, PendingEntry[]>();
  #retriedMs = Number.NEGATIVE_INFINITY;
  readonly #accounts = new Map<AccountId, { count: number; last: PendingEntry }>();
  #size = 0;

  /** The number of entries of all accounts. */
  get size(): number {
    return this.#size;
  }

  /** The number of entries whose accounts are not known to be locked. */
  get queued(): number {
    return this.#queue.length;
  }

  /** The number of the first entry whose account is not known to be locked; `null` if there is none. */
  get firstQueued(): number | null {
    return this.#queue[0]?.number ?? null;
  }

  /** The accounts that were locked at the last attempt to record their entries. */
  get lockedAccounts(): readonly AccountId[] {
    return [...this.#locked.keys()];
  }

  /** The entry that has waited longest; `undefined` if none waits. */
  get oldest(): PendingEntry | undefined {
    let [oldest] = this.#queue;
    for (const [first] of this.#locked.values())
      if (first !== undefined && (oldest === undefined || first.number < oldest.number)) oldest = first;
    return oldest;
  }

  /** The number of an account's entries. */
  countOf(accountId: AccountId): number {
    return this.#accounts.get(accountId)?.count ?? 0;
  }

  /** The entry of an account that was recorded last; `undefined` if none waits. */
  lastOf(accountId: AccountId): PendingEntry | undefined {
    return this.#accounts.get(accountId)?.last;
  }

  /** Whether the account was locked at the last attempt to record its entries. `null`: whether any account was. */
  isLocked(accountId: AccountId | null): boolean {
    return accountId === null ? this.#locked.size > 0 : this.#locked.has(accountId);
  }

  add(pending: PendingEntry): void {
    const { accountId } = pending.entry;
    (this.#locked.get(accountId) ?? this.#queue).push(pending);
    this.#accounts.set(accountId, { count: this.countOf(accountId) + 1, last: pending });
    this.#size++;
  }

  /**
   * The first entries, as many as are inserted together, or the first entry of some locked accounts if it is time to try them again. They
   * stay until {@link remove}.
   */
  nextBatch(): PendingBatch {
    const nowMs = performance.now();
    const areLocked =
      this.#locked.size > 0 && (this.#queue.length === 0 || nowMs >= this.#retriedMs + LOCKED_RETRY_MS);
    if (areLocked) this.#retriedMs = nowMs;
    const [entries = []] = batchesOf(areLocked ? this.#firstOfLocked() : this.#queue, answerLength);
    return { entries, areLocked };
  }

  #firstOfLocked(): readonly PendingEntry[] {
    return [...this.#locked.values()].slice(0, MAX_RETRIED).flatMap((entries) => entries.slice(0, 1));
  }

  /** Removes entries that are no longer `pending`. Their accounts are not locked. */
  remove(entries: readonly PendingEntry[]): void {
    this.#size -= entries.length;
    for (const { entry } of entries) {
      const account = this.#accounts.get(entry.accountId);
      if (account !== undefined && --account.count === 0) this.#accounts.delete(entry.accountId);
      const unlocked = this.#locked.get(entry.accountId);
      if (unlocked === undefined) continue;
      this.#locked.delete(entry.accountId);
      this.#queue = [...this.#queue, ...unlocked].sort((one, other) => one.number - other.number);
    }
    this.#queue = this.#queue.filter(({ state }) => state === "pending");
  }

  /** Keeps the entries of accounts apart, because rows of these accounts are locked. */
  keepApart(accounts: ReadonlySet<AccountId>): void {
    if (accounts.size === 0) return;
    for (const accountId of accounts) {
      const entries = this.#locked.get(accountId) ?? [];
      this.#locked.delete(accountId);
      this.#locked.set(accountId, entries);
    }
    const queue = this.#queue;
    this.#queue = [];
    for (const pending of queue) (this.#locked.get(pending.entry.accountId) ?? this.#queue).push(pending);
  }
}

/** The length of the answer to an idempotency key, which may be a megabyte. */
function answerLength({ entry }: PendingEntry): number {
  return entry.idempotency?.answer?.text.length ?? 0;
}
