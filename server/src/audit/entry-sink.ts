import type { AuditEntry } from "../contract/entry.ts";

export interface InsertOptions {
  /** Whether some of the entries are likely to exist already. They are skipped in any case, and faster if this is set. Default `false`. */
  readonly mayExist?: boolean;
  /**
   * What to do when another transaction has locked rows of some accounts for longer than a statement may take. `fail`: fail. `leave`: leave the
   * entries of these accounts out. `skip`: leave them out without waiting. Default `fail`.
   */
  readonly locked?: "fail" | "leave" | "skip";
}

/** The database, as the recorder writes to it. */
export interface EntrySink {
  /**
   * Inserts the entries, charges them, and stores the answers that they carry, in one transaction. Skips entries that exist already.
   *
   * @returns the entries that were left out because rows of their accounts are locked: none unless the options allow it.
   */
  insertEntries(entries: readonly AuditEntry[], options?: InsertOptions): Promise<readonly AuditEntry[]>;
}
