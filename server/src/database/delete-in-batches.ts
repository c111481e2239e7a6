import { BACKGROUND_TIMEOUT_MS, type Database, type SqlFragment } from "./database.ts";

interface Deletion {
  readonly from: string;
  readonly where: SqlFragment;
  /** Fewer than by default for rows that are large. */
  readonly batchRows?: number;
}

const BATCH_ROWS = 5_000;

/**
 * Deletes the rows of a table that meet a condition, in statements of at most `batchRows` rows. A single statement would lock all rows until the last
 * one was deleted, and others would wait for them. Rows that are locked are skipped, so the deletion waits for nothing either.
 */
export async function deleteInBatches(
  database: Database,
  { from, where, batchRows = BATCH_ROWS }: Deletion,
): Promise<void> {
  const sql = database.withTimeout(BACKGROUND_TIMEOUT_MS);
  let deleted = batchRows;
  while (deleted === batchRows) {
    const result = await sql`
      delete from ${sql(from)} where ctid in (
        select ctid from ${sql(from)} where ${where}
        limit ${batchRows} for update skip locked
      )`;
    deleted = result.count;
  }
}
