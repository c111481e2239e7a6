import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../fixtures/free-port.ts";
import { sendChat } from "../fixtures/request.ts";
import { runToExit, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const SERVER = process.env.OSTIARY_TEST_DATABASE_URL;
const ID = crypto.randomUUID().replaceAll("-", "");
const USER = `weak_${ID}`;

let server: postgres.Sql;
const created: string[] = [];

/** Creates a database with these options, runs statements in it, and returns its URL. */
async function databaseWith(options: string, ...statements: readonly string[]): Promise<URL> {
  const name = `ostiary_test_${ID}_${created.length}`;
  await server.unsafe(`create database ${name} ${options}`);
  created.push(name);
  const url = new URL(SERVER ?? "");
  url.pathname = `/${name}`;
  const sql = postgres(url.href, { max: 1 });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.end();
  return url;
}

describe.skipIf(SERVER === undefined)("a database that was not made for the service", () => {
  beforeAll(async () => {
    server = postgres(SERVER ?? "", { max: 1 });
    await server.unsafe(`create role ${USER} login password '${ID}'`);
  });

  afterAll(async () => {
    for (const name of created) await server.unsafe(`drop database ${name} with (force)`);
    await server.unsafe(`drop role ${USER}`);
    await server.end();
  });

  const reasonsOf = async (url: URL) => (await runToExit({ databaseUrl: url.href })).reasons;

  it("is refused in an encoding that does not have every character", async () => {
    const url = await databaseWith("encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'");
    expect(await reasonsOf(url)).toEqual([
      expect.stringMatching(/has the encoding LATIN1, .*ENCODING 'UTF8' TEMPLATE template0/),
    ]);
  });

  it("is used in the encoding that initdb chooses without a locale", async () => {
    const url = await databaseWith("encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'");
    await using service = await startService({ databaseUrl: url.href });
    const { key } = await signUpWithKey(service.baseUrl);
    const model = "シグマ/é";
    const answer = await sendChat(service.baseUrl, key, {
      model,
      messages: [{ role: "user", content: "Привет" }],
    });
    expect(answer.status).toBe(404);
    const recorded = async () => {
      const log = await fetch(`${service.baseUrl}/v1/audit`, { headers: { authorization: `Bearer ${key}` } });
      return JSON.stringify(await log.json());
    };
    await expect.poll(recorded, { timeout: 20_000 }).toContain(`"model":"${model}"`);
  });

  it("is refused with what to do if the user may not create tables", async () => {
    const url = await databaseWith("");
    url.username = USER;
    url.password = ID;
    expect(await reasonsOf(url)).toEqual([
      expect.stringMatching(
        /^The database cannot be migrated: permission denied .*ALTER DATABASE … OWNER TO/,
      ),
    ]);
  });

  it("that cannot be reached is named, with what to correct", async () => {
    const missing = new URL(SERVER ?? "");
    missing.pathname = `/missing_${ID}`;
    const stranger = new URL(SERVER ?? "");
    stranger.username = `missing_${ID}`;
    const silent = new URL(SERVER ?? "");
    silent.port = String(await freePort());
    for (const [url, remedy] of [
      [missing, "Create it with: CREATE DATABASE"],
      [stranger, "Correct the user and the password of DATABASE_URL"],
      [silent, "Start PostgreSQL, or correct the host and the port of DATABASE_URL"],
    ] as const) {
      expect(await reasonsOf(url)).toEqual([expect.stringContaining(`. ${remedy}`)]);
    }
  });

  it("is refused if it has tables of another application, which stay as they are", async () => {
    for (const table of [
      "create table accounts (id int primary key, name text)",
      "create table schema_migrations (version text primary key)",
    ]) {
      const url = await databaseWith("", table);
      expect(await reasonsOf(url)).toEqual([
        expect.stringMatching(/^The database cannot be migrated: .*Give the service a database of its own/),
      ]);
      const sql = postgres(url.href, { max: 1 });
      const columns = await sql`
        select column_name from information_schema.columns where table_schema = 'public' order by 1`;
      expect(columns.map(({ column_name: name }) => name)).toEqual(
        table.includes("accounts") ? ["id", "name"] : ["version"],
      );
      await sql.end();
    }
  });

  it("makes the node not ready while its schema or its tables are closed to the service's user", async () => {
    const url = await databaseWith(`owner ${USER}`, `alter schema public owner to ${USER}`);
    const admin = postgres(url.href, { max: 1 });
    url.username = USER;
    url.password = ID;
    await using service = await startService({ databaseUrl: url.href, env: { OSTIARY_LOG: "info" } });
    const readiness = async () => (await fetch(`${service.baseUrl}/readyz`)).json();
    const complaint = "PostgreSQL does not let the service read its tables";
    for (const [close, open, reason] of [
      ["revoke usage on schema public from", "grant usage on schema public to", "there is no table keys in"],
      [
        "revoke select on keys from",
        "grant select on keys to",
        "permission to read the table keys is denied",
      ],
    ] as const) {
      expect(await readiness()).toEqual({ status: "ready" });
      const logged = service.stderr().length;
      await admin.unsafe(`revoke usage on schema public from public; ${close} ${USER}`);
      expect(await readiness()).toEqual({ status: "not ready", reason: complaint });
      const lines = () => service.stderr().slice(logged);
      await expect.poll(lines, { timeout: 20_000 }).toContain(complaint);
      expect(lines()).toContain(reason);
      await admin.unsafe(`${open} ${USER}`);
      // What migrates holds such a lock.
      await admin.unsafe("begin; lock table keys in access exclusive mode");
      expect(await readiness()).toEqual({ status: "ready" });
      await expect.poll(lines, { timeout: 20_000 }).toContain("PostgreSQL answers again");
      await admin.unsafe("rollback");
    }
    await admin.end();
  });
});
