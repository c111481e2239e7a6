import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../server/src/database/database.ts";
import { migrate, pendingMigrations } from "../../server/src/database/migrate.ts";
import { databaseAddressOf, openDatabaseOf } from "../fixtures/database.ts";
import { statusOf } from "../fixtures/request.ts";
import {
  logLines,
  ROOT,
  RUNTIME,
  runToExit,
  type Service,
  type ServiceOptions,
  startService,
} from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

// Deno runs the service from its sources, which are not copied here.
const onNode = describe.skipIf(RUNTIME === "deno");
const isDistributed =
  process.env.OSTIARY_TEST_DATABASE_URL !== undefined && process.env.OSTIARY_TEST_REDIS_URL !== undefined;

/** Adds what a later version needs. The service as it is keeps working. */
const EXPAND = "alter table accounts add column nickname text not null default '';";
/** An arbitrary number that no other advisory lock uses. */
const SLOW_MIGRATION_LOCK = 730_511;
/** Removes what this version uses. */
const CONTRACT = "-- min_version: 0901\nalter table accounts rename column name to full_name;";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-versions-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A later version: this one with more migrations. @returns the path of its main.js. */
async function laterVersion(name: string, migrations: Readonly<Record<string, string>>): Promise<string> {
  // A test that is run again has a folder of its own again.
  const root = await mkdtemp(join(folder, name));
  await mkdir(join(root, "server"));
  await cp(join(ROOT, "server/dist"), join(root, "server/dist"), { recursive: true });
  await cp(join(ROOT, "server/package.json"), join(root, "server/package.json"));
  for (const part of ["node_modules", "dashboard-ui", "docs-site"])
    await symlink(join(ROOT, part), join(root, part));
  for (const [file, text] of Object.entries(migrations))
    await writeFile(join(root, "server/dist/database/migrations", file), text);
  return join(root, "server/dist/main.js");
}

/** What the command `migrate` of a later version does. */
const commandFor = (program: string) => [process.env.OSTIARY_TEST_NODE ?? process.execPath, program] as const;

async function applyMigrationsOf(program: string, service: Service): Promise<void> {
  await using database = await openDatabaseOf(service);
  await migrate(database, pathToFileURL(`${dirname(program)}/database/migrations/`));
}

/** Starts another node, or the next life, of a service. */
function inherited(from: Service, options: ServiceOptions = {}): ServiceOptions {
  const { databaseUrl } = from;
  return databaseUrl === undefined ? { ...options, dataDir: from.dataDir } : { ...options, databaseUrl };
}

onNode("a database that a later version has migrated", () => {
  it("is used when its migrations only add to the schema, and the log names them", async () => {
    const program = await laterVersion("later", { "0901_expand.sql": EXPAND });
    const env = { OSTIARY_LOG: "info" };
    await using first = await startService({ env });
    const { key } = await signUpWithKey(first.baseUrl);
    await first.stop();
    const later = await startService(inherited(first, { command: commandFor(program), env }));
    expect(await statusOf(later.baseUrl, key)).toBe(200);
    await later.stop();
    await using again = await startService(inherited(first, { env }));
    expect(await statusOf(again.baseUrl, key)).toBe(200);
    await signUpWithKey(again.baseUrl);
    const told = logLines(again.stderr()).filter(({ newer }) => newer !== undefined);
    expect(told).toMatchObject([{ level: "info", newer: ["0901_expand.sql"] }]);
  });

  it("is refused when a migration breaks this version, which the message names", async () => {
    const files = { "0901_expand.sql": EXPAND, "0902_contract.sql": CONTRACT };
    const program = await laterVersion("breaking", files);
    await using first = await startService();
    await applyMigrationsOf(program, first);
    await first.stop();
    const { code, reasons } = await runToExit(inherited(first));
    expect({ code, reasons }).toEqual({
      code: 1,
      reasons: [
        expect.stringMatching(
          /^The database was migrated by a newer version .*\(0902_contract\.sql\)\. Start that/,
        ),
      ],
    });
  });
});

onNode("a migration that takes long", () => {
  it("does not keep nodes that start meanwhile from finding out that it is missing", async () => {
    const program = await laterVersion("slow", {
      "0901_slow.sql": `select pg_advisory_xact_lock(${SLOW_MIGRATION_LOCK})`,
    });
    const migrations = pathToFileURL(`${dirname(program)}/database/migrations/`);
    await using service = await startService();
    await using sql = await openDatabaseOf(service);
    const address = await databaseAddressOf(service);
    const node = openDatabase(address, { maxConnections: 1, connectTimeoutS: 30 });
    const { migrating } = await sql.transaction("", async (held) => {
      await held`select pg_advisory_xact_lock(${SLOW_MIGRATION_LOCK})`;
      // In an object: the transaction must end before the migration does.
      const started = { migrating: migrate(sql, migrations) };
      const waiting = () => held`
        select from pg_locks where locktype = 'advisory' and objid = ${SLOW_MIGRATION_LOCK} and not granted
          and database = (select oid from pg_database where datname = current_database())`;
      await expect.poll(waiting, { timeout: 60_000 }).toHaveLength(1);
      expect(await pendingMigrations(node, migrations)).toEqual(["0901_slow.sql"]);
      return started;
    });
    expect((await migrating).missing).toEqual(["0901_slow.sql"]);
    await node.end();
  });
});

onNode("a migration of a table that a long transaction reads, such as that of a backup", () => {
  it("waits for its end, and statements of running nodes do not wait behind it", async () => {
    const program = await laterVersion("blocked", { "0901_expand.sql": EXPAND });
    const migrations = pathToFileURL(`${dirname(program)}/database/migrations/`);
    await using service = await startService();
    await using sql = await openDatabaseOf(service);
    const node = openDatabase(await databaseAddressOf(service), { maxConnections: 1, connectTimeoutS: 30 });
    const { migrating } = await sql.transaction("", async (backup) => {
      await backup`lock table accounts in access share mode`;
      let isBlocked = false;
      const onBlocked = () => {
        isBlocked = true;
      };
      // In an object: the transaction must end before the migration does.
      const started = { migrating: migrate(sql, migrations, { onBlocked }) };
      // The server ends a transaction in which nothing happens.
      const blocked = async () => (await backup`select 1`) && isBlocked;
      await expect.poll(blocked, { timeout: 60_000 }).toBe(true);
      await node`select from accounts`;
      return started;
    });
    expect((await migrating).missing).toEqual(["0901_expand.sql"]);
    await node.end();
  });
});

describe.skipIf(RUNTIME === "deno" || !isDistributed)("nodes of two versions on one database", () => {
  it("both serve: keys of one work at the other, and are refused by both once they are revoked", async () => {
    const program = await laterVersion("beside", { "0901_expand.sql": EXPAND });
    await using older = await startService();
    const before = await signUpWithKey(older.baseUrl);
    await using later = await startService(inherited(older, { command: commandFor(program) }));
    await using sql = await openDatabaseOf(older);
    expect(await sql`select file from schema_migrations where file = '0901_expand.sql'`).toHaveLength(1);

    const after = await signUpWithKey(later.baseUrl);
    for (const { key } of [before, after]) {
      for (const { baseUrl } of [older, later]) expect(await statusOf(baseUrl, key)).toBe(200);
    }
    const { keys } = await after.trpc.keys.list.query();
    await after.trpc.keys.revoke.mutate({ id: keys[0]?.id ?? "" });
    for (const { baseUrl } of [older, later]) expect(await statusOf(baseUrl, after.key)).toBe(401);

    // An older node may also start beside the later one.
    await using third = await startService(inherited(older));
    expect(await statusOf(third.baseUrl, before.key)).toBe(200);
  });

  it("wait for a migration, if they must not migrate themselves", async () => {
    const program = await laterVersion("waiting", { "0901_expand.sql": EXPAND });
    await using older = await startService();
    const { key } = await signUpWithKey(older.baseUrl);
    const logged: unknown[] = [];
    const later = startService(
      inherited(older, {
        command: commandFor(program),
        env: { OSTIARY_MIGRATE: "0" },
        onLogLine: ({ msg }) => logged.push(msg),
      }),
    );
    await expect.poll(() => logged, { timeout: 60_000 }).toContain("waiting until the database is migrated");
    await applyMigrationsOf(program, older);
    await using waited = await later;
    for (const { baseUrl } of [older, waited]) expect(await statusOf(baseUrl, key)).toBe(200);
  });
});
