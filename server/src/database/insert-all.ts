/** The maximum number of entries that are inserted together. */
export const BATCH_ITEMS = 2_000;
/** The maximum size of a batch, in bytes or characters: some entries carry an answer of a megabyte. */
const BATCH_SIZE = 8 * 1024 * 1024;

/** Divides a list into batches: one item, or as many as the limits allow. */
export function* batchesOf<Item>(
  items: Iterable<Item>,
  sizeOf: (item: Item) => number,
  maxSize = BATCH_SIZE,
): Generator<readonly Item[]> {
  let batch: Item[] = [];
  let size = 0;
  for (const item of items) {
    size += sizeOf(item);
    if (batch.length === BATCH_ITEMS || (batch.length > 0 && size > maxSize)) {
      yield batch;
      batch = [];
      size = sizeOf(item);
    }
    batch.push(item);
  }
  if (batch.length > 0) yield batch;
}

/** An item that the database refused for its content, with the database's message. */
export interface Refused<Item> {
  readonly item: Item;
  readonly reason: string;
}

/** The outcome of an insert. Each item is in one of the two lists. */
export interface Inserted<Item> {
  readonly inserted: readonly Item[];
  readonly refused: readonly Refused<Item>[];
}

/**
 * Inserts all items except those that the database refuses for their content: a refused batch is halved until the items at fault
 * are alone. One such item among 2,000 costs about 20 more statements.
 *
 * `insert` inserts a batch in order, in one transaction. Inserting the same items again must be harmless.
 *
 * @throws what `insert` throws for another reason, such as a lost connection. Then all items have to be inserted again.
 */
export async function insertAll<Item>(
  items: readonly Item[],
  insert: (batch: readonly Item[]) => Promise<unknown>,
): Promise<Inserted<Item>> {
  if (items.length === 0) return { inserted: [], refused: [] };
  let reason = await refusalOf(items, insert);
  // Two nodes that insert the same row may conflict once, so a single item is tried twice. An item that is at fault is refused again.
  if (reason !== null && items.length === 1) reason = await refusalOf(items, insert);
  if (reason === null) return { inserted: items, refused: [] };
  const [item] = items;
  if (items.length === 1 && item !== undefined) return { inserted: [], refused: [{ item, reason }] };
  const middle = Math.ceil(items.length / 2);
  const first = await insertAll(items.slice(0, middle), insert);
  const second = await insertAll(items.slice(middle), insert);
  return {
    inserted: [...first.inserted, ...second.inserted],
    refused: [...first.refused, ...second.refused],
  };
}

async function refusalOf<Item>(
  items: readonly Item[],
  insert: (batch: readonly Item[]) => Promise<unknown>,
): Promise<string | null> {
  try {
    await insert(items);
    return null;
  } catch (error) {
    if (!refusesContent(error)) throw error;
    return error.message;
  }
}

/**
 * SQLSTATE classes 22 (data exception) and 23 (integrity constraint violation), and 54000 (a value is too long for an index).
 * Connections (08), resources (53), operator intervention (57) and serialization failures (40) do not depend on the content.
 */
const CONTENT = /^(?:2[23][0-9A-Z]{3}|54000)$/;

/** Whether the database refused a statement for the values in it and will refuse it again. */
export function refusesContent(error: unknown): error is Error {
  return error instanceof Error && "code" in error && CONTENT.test(String(error.code));
}

/**
 * Inserts rows together, or in halves when the database is too slow to insert them within a statement's deadline, or rows
 * are locked. Without this a batch that takes too long would be retried without end.
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
    if (!isCancelled(error) || rows.length === 1) throw error;
    const middle = Math.ceil(rows.length / 2);
    await insertInHalves(rows.slice(0, middle), insert);
    await insertInHalves(rows.slice(middle), insert);
  }
}

/** Whether the server has cancelled a statement, because it took too long or waited too long for a lock. Smaller parts of its work may succeed. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "57014" || error.code === "55P03");
}
