import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Reconciler } from "../../server/src/audit/reconciliation.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { Credits } from "../../server/src/credits/credits.ts";
import { type Database, inTransaction, type Statements } from "../../server/src/database/database.ts";
import { contractionsBetween, readSchema } from "../fixtures/database-schema.ts";
import { type FormerDatabase, migrationFiles, openFormerDatabase } from "../fixtures/former-database.ts";
import { type Service, startService } from "../fixtures/service.ts";

// During a rolling upgrade nodes of the version before write to the schema of this one. `former-inserts.sql` is what they write.

/** The last migration of the oldest version that a rolling upgrade may start from. */
const OLDEST = "0012";
const FORMER_INSERTS = new URL("../fixtures/former-inserts.sql", import.meta.url);
/** Between the times of the entries and now, however long ago they are. */
const PAST_HOURS = 24 * 365 * 20;

const files = (await migrationFiles()).map((file) => ({ file, number: file.slice(0, 4) }));
const newer = files.filter(({ number }) => number > OLDEST);
const NEWEST = files.at(-1)?.number ?? "";
const former = files.filter(({ number }) => number >= OLDEST && number < NEWEST);

let service: Service;
let oldest: FormerDatabase;

beforeAll(async () => {
  service = await startService();
  oldest = await openFormerDatabase(service, OLDEST);
});

afterAll(async () => {
  await oldest?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

async function writeAsFormerVersion(sql: Database): Promise<void> {
  const text = await readFile(FORMER_INSERTS, "utf8");
  await inTransaction(sql, (connection) => connection.unsafe(text));
}

/** All rows of all tables as JSON, without the values of columns that have a time or a random value by default. */
async function contentOf(sql: Statements): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const tables = await sql<{ name: string; varying: readonly string[] }[]>`
    select relname as name, coalesce((
      select jsonb_agg(attname) from pg_attribute
      join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = pg_class.oid and pg_get_expr(adbin, adrelid) ~ 'now\\(|gen_random_uuid\\('
    ), '[]') as varying
    from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> 'schema_migrations'
    order by 1`;
  const content: Record<string, readonly unknown[]> = {};
  for (const { name, varying } of tables) {
    const rows = await sql<{ row: unknown }[]>`
      select to_jsonb(content) - (select coalesce(array_agg(value), '{}') from jsonb_array_elements_text(${sql.json(varying)})) as row
      from ${sql(name)} content order by 1`;
    content[name] = rows.map(({ row }) => row);
  }
  return content;
}

describe("a node of an older version", () => {
  it("writes to every table of its schema", async () => {
    await using database = await openFormerDatabase(service, OLDEST);
    await writeAsFormerVersion(database.sql);
    const content = await contentOf(database.sql);
    expect(Object.keys(content).filter((name) => content[name]?.length === 0)).toEqual([]);
  });

  it.each(former)(
    "writes after an upgrade from $file what it would have written before",
    async ({ number }) => {
      await using upgraded = await openFormerDatabase(service, number);
      await writeAsFormerVersion(upgraded.sql);
      await upgraded.upgrade();
      await using current = await openFormerDatabase(service, NEWEST);
      await writeAsFormerVersion(current.sql);
      expect(await contentOf(current.sql)).toEqual(await contentOf(upgraded.sql));
    },
  );

  it("has counted no broken-off stream as an error: an upgrade adds them to the sums", async () => {
    await using database = await openFormerDatabase(service, "0019");
    await writeAsFormerVersion(database.sql);
    const broken =
      await database.sql`update audit_entries set error_code = 'upstream_error' where status < 400`;
    expect(broken.count).toBeGreaterThan(0);
    await database.upgrade();
    const credits: Pick<Credits, "outstanding"> = { outstanding: () => ({ holds: 0, nanoUsd: 0n }) };
    const report = await new Reconciler(database.sql, credits, () => new Date()).check(PAST_HOURS);
    expect(report.usageMismatches).toEqual([]);
  });

  it("counts no broken-off stream as an error after the upgrade either, which is no mismatch", async () => {
    await using current = await openFormerDatabase(service, NEWEST);
    await writeAsFormerVersion(current.sql);
    await current.sql`update audit_entries set error_code = 'upstream_error' where status < 400`;
    const credits: Pick<Credits, "outstanding"> = { outstanding: () => ({ holds: 0, nanoUsd: 0n }) };
    const reconciler = new Reconciler(current.sql, credits, () => new Date());
    expect((await reconciler.check(PAST_HOURS)).usageMismatches).toEqual([]);
    await current.sql`update usage_hours set errors = requests + 1`;
    expect((await reconciler.check(PAST_HOURS)).usageMismatches).not.toEqual([]);
  });

  it("leaves sums that agree with what they sum up", async () => {
    await using current = await openFormerDatabase(service, NEWEST);
    await writeAsFormerVersion(current.sql);
    const credits: Pick<Credits, "outstanding"> = { outstanding: () => ({ holds: 0, nanoUsd: 0n }) };
    const report = await new Reconciler(current.sql, credits, () => new Date()).check(PAST_HOURS);
    expect(report).toMatchObject({ mismatches: [], usageMismatches: [] });
    // That there was something to compare.
    const accounts = await current.sql<
      { id: AccountId }[]
    >`select distinct account_id as id from credit_days`;
    expect(accounts).toHaveLength(2);
  });
});

describe("a migration", () => {
  it.each(newer)("only expands what nodes of the version before use: $file", async ({ number }) => {
    const previous = files[files.findIndex((file) => file.number === number) - 1]?.number ?? "";
    await using database = await openFormerDatabase(service, previous);
    const before = await readSchema(database.sql);
    await database.upgrade(number);
    expect(contractionsBetween(before, await readSchema(database.sql))).toEqual([]);
  });

  it.each([
    ["alter table accounts drop column suspension_reason", "column accounts.suspension_reason is gone"],
    ["alter table accounts rename column name to title", "column accounts.name is gone"],
    ["drop table key_addresses", "table key_addresses is gone"],
    ["alter table keys alter column name type varchar(10)", "column keys.name has another type"],
    ["alter table audit_entries alter column model set not null", "column audit_entries.model is required"],
    ["alter table accounts add column region text not null", "column accounts.region is required"],
    ["alter table accounts alter column version drop default", "column accounts.version is required"],
    [
      "alter table accounts add constraint short check (length(name) < 9)",
      "table accounts has a new constraint short",
    ],
    ["create unique index one_name on accounts (name)", "table accounts has a new unique index one_name"],
    ["drop function csv_field(text)", "function csv_field(value text) is gone"],
  ])("is found to contract it: %s", async (statement, found) => {
    const rolledBack = new Error("rolled back");
    const changed = oldest.sql.transaction("", async (connection) => {
      const before = await readSchema(connection);
      await connection.unsafe(statement);
      expect(contractionsBetween(before, await readSchema(connection))).toContain(found);
      throw rolledBack;
    });
    await expect(changed).rejects.toBe(rolledBack);
  });

  it("is in a file that is named by its number", () => {
    expect(files.map(({ number }) => Number(number))).toEqual(files.map((_, index) => index + 1));
  });
});
