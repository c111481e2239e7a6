import { describe, expect, it } from "vitest";
import { insertAll, refusesContent } from "../../server/src/database/insert-all.ts";

/** As the database's driver throws it. */
function databaseError(code: string, message = "refused"): Error {
  return Object.assign(new Error(message), { code });
}

/** A database that refuses batches with certain numbers in them, whole. */
function refusing(bad: ReadonlySet<number>, code = "22P02") {
  const batches: number[][] = [];
  const committed = new Set<number>();
  const insert = async (batch: readonly number[]) => {
    batches.push([...batch]);
    const first = batch.find((number) => bad.has(number));
    if (first !== undefined) throw databaseError(code, `invalid input: ${first}`);
    for (const number of batch) committed.add(number);
  };
  return { insert, batches, committed };
}

const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

describe("a batch that the database refuses for its content", () => {
  it("is inserted without the items at fault, which are returned with the database's message", async () => {
    const { insert, batches, committed } = refusing(new Set([0, 700, 701, 1_999]));
    const outcome = await insertAll(numbers(2_000), insert);
    expect(outcome.refused).toEqual(
      [0, 700, 701, 1_999].map((item) => ({ item, reason: `invalid input: ${item}` })),
    );
    expect(outcome.inserted).toHaveLength(1_996);
    expect([...committed].toSorted((a, b) => a - b)).toEqual(outcome.inserted);
    // Not one by one.
    expect(batches.length).toBeLessThan(4 * 2 * Math.ceil(Math.log2(2_000)));
  });

  it("keeps its order", async () => {
    const { insert } = refusing(new Set([3]));
    const given: number[] = [];
    const { inserted } = await insertAll(numbers(9), async (batch) => {
      await insert(batch);
      given.push(...batch);
    });
    expect(inserted).toEqual([0, 1, 2, 4, 5, 6, 7, 8]);
    expect(given).toEqual(inserted);
  });

  it("may be at fault in every item", async () => {
    const { insert } = refusing(new Set(numbers(50)), "23514");
    const { inserted, refused } = await insertAll(numbers(50), insert);
    expect(inserted).toEqual([]);
    expect(refused.map(({ item }) => item)).toEqual(numbers(50));
  });

  it("is inserted whole when the refusal came from a race with another node", async () => {
    let attempts = 0;
    const { inserted, refused } = await insertAll([1], async () => {
      if (++attempts === 1) throw databaseError("23505");
    });
    expect({ inserted, refused, attempts }).toEqual({ inserted: [1], refused: [], attempts: 2 });
  });
});

describe("an unreachable database", () => {
  it.each(["ECONNREFUSED", "CONNECTION_CLOSED", "57P01", "08006", "53300", "40P01", "XX000"])(
    "is not treated as a fault of the items: %s",
    async (code) => {
      const insert = async () => {
        throw databaseError(code);
      };
      await expect(insertAll(numbers(10), insert)).rejects.toMatchObject({ code });
    },
  );

  it("between two halves leaves all items to be inserted again", async () => {
    let batches = 0;
    const insert = async () => {
      if (++batches === 1) throw databaseError("22P02");
      throw databaseError("CONNECTION_CLOSED");
    };
    await expect(insertAll(numbers(10), insert)).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
  });
});

it("an empty batch runs no statement", async () => {
  const insert = () => Promise.reject(new Error("was asked"));
  expect(await insertAll([], insert)).toEqual({ inserted: [], refused: [] });
});

it.each([
  ["22P02", true],
  ["22P05", true],
  ["23503", true],
  ["54000", true],
  ["42703", false],
  ["57014", false],
  [22, false],
])("SQLSTATE %s is classified as a fault of content: %s", (code, isContent) => {
  expect(refusesContent(Object.assign(new Error(""), { code }))).toBe(isContent);
});
