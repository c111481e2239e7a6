import { isStatementTimeout } from "./database.ts";

/** Fewer are not divided: that the database takes so long for them has another reason. */
const MIN_DIVIDED = 2;

/**
 * Inserts rows at once, or in parts where the database is too slow to take them within a statement's time: so that a batch
 * which takes too long is not tried again and again as it is.
 *
 * @param insert passes over rows that are there already, as some may be when a later part fails.
 */
export async function insertInHalves<Row>(
  rows: readonly Row[],
  insert: (rows: readonly Row[]) => Promise<void>,
): Promise<void> {
  try {
    await insert(rows);
  } catch (error) {
    if (!isStatementTimeout(error) || rows.length < MIN_DIVIDED) throw error;
    const middle = Math.ceil(rows.length / 2);
    await insertInHalves(rows.slice(0, middle), insert);
    await insertInHalves(rows.slice(middle), insert);
  }
}
