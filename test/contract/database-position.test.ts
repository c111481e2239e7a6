import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { positionInDatabase } from "../../server/src/admission/database-epoch.ts";
import { type AuditDatabase, openAuditDatabase } from "../fixtures/audit-database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

let database: AuditDatabase;
let position: ReturnType<typeof positionInDatabase>;

beforeAll(async () => {
  database = await openAuditDatabase(auditEntry());
  position = positionInDatabase(database.sql);
});

beforeEach(async () => {
  await database.sql`delete from installation`;
  await database.sql`insert into installation (key_mark_secret, epoch_tick) values ('\\x00', 5)`;
});

afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
});

it("the position of a database goes one on from what was seen last", async () => {
  expect(await position.advance(null)).toEqual({ epoch: "", tick: 6n });
  expect(await position.advance({ epoch: "", tick: 6n })).toEqual({ epoch: "", tick: 7n });
  expect(await position.advance({ epoch: "", tick: 3n })).toEqual({ epoch: "", tick: 8n });
  expect(await position.advance({ epoch: "earlier", tick: 1_000n })).toEqual({ epoch: "", tick: 9n });
  expect(await position.read()).toEqual({ epoch: "", tick: 9n });
});

it("the position of a database that lacks what was seen stays, so that every node can find it", async () => {
  for (let node = 0; node < 2; node++)
    expect(await position.advance({ epoch: "", tick: 6n })).toEqual({ epoch: "", tick: 5n });
  expect(await position.read()).toEqual({ epoch: "", tick: 5n });
});

it("a new epoch is begun by one of several nodes, with ids of spenders far above those that a journal may name", async () => {
  const idsNow = async () => {
    const [row] = await database.sql<[{ id: bigint }]>`
      select nextval(pg_get_serial_sequence('credit_spenders', 'id')) as id`;
    return row.id;
  };
  const before = await idsNow();
  await Promise.all([position.begin(""), position.begin("")]);
  const { epoch, tick } = await position.read();
  expect(epoch).toMatch(/^[0-9a-f]{12}$/);
  expect(tick).toBe(5n);
  const after = await idsNow();
  expect(after - before).toBeGreaterThan(1_000_000n);
  expect(after - before).toBeLessThan(1_000_010n);
  await position.begin(epoch);
  expect((await position.read()).epoch).not.toBe(epoch);
});
