import { isStatementTimeout } from "./database.ts";

/**
 * Inserts rows together, or in halves when the database is too slow to insert them within a statement's deadline. Without this a
 * batch that takes too long would be retried without end.
 *
 * @param insert must skip rows that exist: when a half fails, the caller retries all of them.
 */
export async function insertInHalves<Row>(
  rows: readonly Row[],
  insert: (rows: readonly Row[]) => Promise<void>,
): Promise<void> {
  try {
    await insert(rows);
  } catch (error) {
    if (!isStatementTimeout(error) || rows.length === 1) throw error;
    const middle = Math.ceil(rows.length / 2);
    await insertInHalves(rows.slice(0, middle), insert);
    await insertInHalves(rows.slice(middle), insert);
  }
}
