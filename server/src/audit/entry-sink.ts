import type { AuditEntry } from "../contract/entry.ts";

export interface InsertOptions {
  /** Whether some of the entries are likely to exist already. They are skipped in any case, and faster if this is set. Default `false`. */
  readonly mayExist?: boolean;
  /**
   * When the entries of accounts are left out of which another transaction has locked rows. `leave`: when the locks have lasted for as long as
   * a statement may take. `skip`: at once. Default `leave`.
   */
  readonly locked?: "leave" | "skip";
}

/** The database, as the recorder writes to it. */
export interface EntrySink {
  /**
   * Inserts the entries, charges them, and stores the answers that they carry, in one transaction. Skips entries that exist already.
   *
   * @returns the entries that were left out because rows of their accounts are locked.
   */
  insertEntries(entries: readonly AuditEntry[], options?: InsertOptions): Promise<readonly AuditEntry[]>;
}
