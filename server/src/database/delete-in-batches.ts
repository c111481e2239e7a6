/**
 * Repeats a statement that deletes at most `rows` rows until it deletes fewer. One statement for all would keep those waiting who need one of its
 * rows, until the last was deleted.
 *
 * @param deleteRows resolves with the number of rows that it has deleted, as `count`.
 */
export async function deleteInBatches(
  rows: number,
  deleteRows: () => PromiseLike<{ readonly count: number }>,
): Promise<void> {
  let deleted = rows;
  while (deleted === rows) deleted = (await deleteRows()).count;
}
