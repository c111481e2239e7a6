import { firstEntryIdAt } from "../audit/entry.ts";
import { type Database, inTransaction } from "./database.ts";

/** Any number that nothing else in the database locks on. */
const PARTITION_LOCK = 7_305_113_002n;
const MONTHS_AHEAD = 2;

/**
 * Makes the monthly partitions of `audit_entries` from last month (journals may be replayed late) to two months
 * ahead. Harmless when they are there; to be called at start and every day.
 */
export async function makeAuditPartitions(database: Database, now: Date): Promise<void> {
  await inTransaction(database, async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${PARTITION_LOCK})`;
    for (let offset = -1; offset <= MONTHS_AHEAD; offset++) {
      const from = monthStart(now, offset);
      const to = monthStart(now, offset + 1);
      const name = `audit_entries_${from.getUTCFullYear()}_${String(from.getUTCMonth() + 1).padStart(2, "0")}`;
      await transaction.unsafe(
        `create table if not exists ${name} partition of audit_entries
           for values from ('${firstEntryIdAt(from)}') to ('${firstEntryIdAt(to)}')`,
      );
    }
  });
}

function monthStart(now: Date, offset: number): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1));
}
