/** Something that the database refused for its content, and what it said. */
export interface Refused<Item> {
  readonly item: Item;
  readonly reason: string;
}

/** What became of items that were to be inserted: each of them is in one of the two. */
export interface Inserted<Item> {
  readonly inserted: readonly Item[];
  readonly refused: readonly Refused<Item>[];
}

/**
 * Inserts all items but those that the database refuses for their content: a batch that it refuses is halved until the items at fault
 * stand alone. One of 2,000 costs about 20 statements more.
 *
 * `insert` takes a batch, in its order, in one transaction, and must do no harm when it is given the same again.
 *
 * @throws whatever `insert` throws for another reason, such as a lost connection: then nothing is known of any item, and all of
 * them have to be inserted again.
 */
export async function insertAll<Item>(
  items: readonly Item[],
  insert: (batch: readonly Item[]) => Promise<unknown>,
): Promise<Inserted<Item>> {
  if (items.length === 0) return { inserted: [], refused: [] };
  const reason = await refusalOf(items, insert);
  if (reason === null) return { inserted: items, refused: [] };
  const [item] = items;
  if (item !== undefined && items.length === 1) {
    // Two nodes that insert the same row may collide once. What is at fault itself is refused again.
    const again = await refusalOf(items, insert);
    return again === null
      ? { inserted: items, refused: [] }
      : { inserted: [], refused: [{ item, reason: again }] };
  }
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
 * SQLSTATE classes 22 (data exception) and 23 (integrity constraint violation), and 54000, which is a value too long for an
 * index. Not connections (08), resources (53), an operator's intervention (57) or lost races (40), which say nothing of
 * what was inserted.
 */
const CONTENT = /^(?:2[23][0-9A-Z]{3}|54000)$/;

/** Whether the database refused a statement for the values in it. The same statement will be refused again. */
export function refusesContent(error: unknown): error is Error {
  return error instanceof Error && "code" in error && CONTENT.test(String(error.code));
}
