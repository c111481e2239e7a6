import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { openFormerDatabase } from "../fixtures/former-database.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

const DAY_MS = 24 * 60 * 60_000;
const DAYS = 7;
/** The last migration before charges were summed by day. */
const LAST_BEFORE_DAYS = "0016";

let service: Service;
let sql: ServiceDatabase;

beforeAll(async () => {
  service = await startService();
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

type Line = Awaited<ReturnType<Owner["trpc"]["credits"]["statement"]["query"]>>["lines"][number];

/** An account with costs on each of some days, a grant at the first and the last moment of each, and its balance. */
async function ownerWithHistory(): Promise<Owner> {
  const owner = await signUp(service.baseUrl);
  const { id } = await owner.trpc.account.get.query();
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  for (let day = 1; day <= DAYS; day++) {
    const begin = today - day * DAY_MS;
    for (const at of [begin, begin + DAY_MS - 1]) {
      await sql`
        insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
        values (${uuidv7({ msecs: at })}, ${id}, ${new Date(at)}, 'grant', 1000, ${`day ${day}`})`;
    }
    await sql`
      insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
      values (${uuidv7({ msecs: begin })}, ${id}, ${new Date(begin)}, 'charge', ${-day}, 'requests')`;
  }
  return owner;
}

async function pagesOf({ trpc }: Owner, limit: number): Promise<readonly (readonly Line[])[]> {
  const pages: Line[][] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof trpc.credits.statement.query>> = await trpc.credits.statement.query(
      { limit, ...(cursor === null ? {} : { cursor }) },
    );
    pages.push([...page.lines]);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return pages;
}

describe("a statement", () => {
  it("has each line once, in the same order, whatever the page size", async () => {
    const owner = await ownerWithHistory();
    const [all = []] = await pagesOf(owner, 200);
    expect(all).toHaveLength(3 * DAYS + 1);
    for (const limit of [1, 2, 3, 5, 21, 22]) {
      const pages = await pagesOf(owner, limit);
      expect(pages.flat()).toEqual(all);
      for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit);
    }
  });

  it("puts a day's requests above the grants of the day", async () => {
    const owner = await ownerWithHistory();
    const [all = []] = await pagesOf(owner, 200);
    // The newest line is the credit of the sign-up.
    const days = all.slice(1).map(({ kind, amountNanoUsd, reason }) => `${kind} ${amountNanoUsd} ${reason}`);
    expect(days.slice(0, 6)).toEqual([
      "requests -1 requests",
      "grant 1000 day 1",
      "grant 1000 day 1",
      "requests -2 requests",
      "grant 1000 day 2",
      "grant 1000 day 2",
    ]);
  });

  it("is all before an id of the far future, and nothing before one of 1970", async () => {
    const owner = await ownerWithHistory();
    const { lines } = await owner.trpc.credits.statement.query();
    const before = async (cursor: string) => (await owner.trpc.credits.statement.query({ cursor })).lines;
    expect(await before("ffffffff-ffff-7fff-bfff-ffffffffffff")).toEqual(lines);
    expect(await before("00000000-0000-7000-8000-000000000000")).toEqual([]);
  });

  it("refuses an invalid cursor", async () => {
    const owner = await signUp(service.baseUrl);
    await expect(owner.trpc.credits.statement.query({ cursor: "1" })).rejects.toMatchObject({
      data: { httpStatus: 400 },
    });
  });
});

describe("days of credit", () => {
  it("of a ledger that is older than they are become its sums, and those of other accounts are not mixed in", async () => {
    await using former = await openFormerDatabase(service, LAST_BEFORE_DAYS);
    const ids = [uuidv7(), uuidv7()];
    const at = new Date("2026-03-03T23:59:59.999Z");
    for (const [index, id] of ids.entries()) {
      await former.sql`insert into accounts (id, name, created_at) values (${id}, 'Former', ${at})`;
      for (const [kind, amount, time] of [
        ["charge", -10 * (index + 1), at],
        ["uncollected", 4, at],
        ["charge", -3, new Date(at.getTime() + 1)],
      ] as const) {
        await former.sql`
          insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
          values (${uuidv7()}, ${id}, ${time}, ${kind}, ${amount}, 'requests')`;
      }
    }
    await former.upgrade();
    const rows = await former.sql`
      select account_id, to_char(day at time zone 'UTC', 'YYYY-MM-DD') as day, charged_nano_usd as charged,
             uncollected_nano_usd as uncollected
      from credit_days order by day, account_id`;
    expect([...rows]).toEqual([
      { account_id: ids[0], day: "2026-03-03", charged: -10n, uncollected: 4n },
      { account_id: ids[1], day: "2026-03-03", charged: -20n, uncollected: 4n },
      { account_id: ids[0], day: "2026-03-04", charged: -3n, uncollected: 0n },
      { account_id: ids[1], day: "2026-03-04", charged: -3n, uncollected: 0n },
    ]);
  });
});
