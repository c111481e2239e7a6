import type { AccountId } from "../contract/account.ts";
import type { AuditEntry } from "../contract/entry.ts";
import { isLockTimeout } from "../database/database.ts";
import { insertInHalves, isCancelled } from "../database/insert-all.ts";
import type { EntrySink, InsertOptions } from "./entry-sink.ts";

/**
 * An account whose entries cannot be told apart from the others but by waiting for its lock costs some tenths of a second. If there are more,
 * what is locked is not the accounts' own.
 */
const MAX_WAITED_FOR = 20;

/** The entries that several inserts, one after the other, leave out because rows of their accounts are locked. */
export class LeftOut {
  readonly entries = new Set<AuditEntry>();
  readonly #accounts = new Set<AccountId>();

  /**
   * Inserts entries, but none of an account of which some were left out before: the entries of an account are recorded in their order.
   *
   * @param insert returns the entries that it leaves out.
   */
  async insert(
    entries: readonly AuditEntry[],
    insert: (entries: readonly AuditEntry[]) => Promise<readonly AuditEntry[]>,
  ): Promise<void> {
    const free = entries.filter(({ accountId }) => !this.#accounts.has(accountId));
    this.#add(entries.filter(({ accountId }) => this.#accounts.has(accountId)));
    if (free.length > 0) this.#add(await insert(free));
  }

  #add(entries: readonly AuditEntry[]): void {
    for (const entry of entries) {
      this.entries.add(entry);
      this.#accounts.add(entry.accountId);
    }
  }
}

/**
 * Inserts entries together, or in halves if the database is too slow. If something is locked for longer than a statement may take, it inserts
 * the entries of those accounts that are not locked.
 */
export async function insertInParts(
  sink: EntrySink,
  entries: readonly AuditEntry[],
  { locked = "leave", ...options }: InsertOptions = {},
): Promise<readonly AuditEntry[]> {
  if (locked === "leave") {
    try {
      return await sink.insertEntries(entries, options);
    } catch (error) {
      if (!isCancelled(error)) throw error;
    }
  }
  const left = new LeftOut();
  let waitedFor = 0;
  await insertInHalves(entries, (part) =>
    left.insert(part, async (free) => {
      try {
        return await sink.insertEntries(free, { ...options, locked: "skip" });
      } catch (error) {
        // Another row than those that are skipped, such as a sum of the account's usage.
        if (!isLockTimeout(error) || free.length > 1 || waitedFor++ === MAX_WAITED_FOR) throw error;
        return free;
      }
    }),
  );
  return [...left.entries];
}
