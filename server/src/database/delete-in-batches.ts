/**
 * Repeats a statement that deletes at most `rows` rows until it deletes fewer. A single statement would lock all rows until the last one was deleted,
 * and others would wait for them.
 *
 * @param deleteRows resolves with the number of rows that it has deleted, as `count`.
 */
export async function deleteInBatches(
  rows: number,
  deleteRows: (rows: number) => PromiseLike<{ readonly count: number }>,
): Promise<void> {
  let deleted = rows;
  while (deleted === rows) deleted = (await deleteRows(rows)).count;
}
