import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { inTransaction } from "../../server/src/database/database.ts";
import { during, openDatabaseOf } from "../fixtures/database.ts";
import { statusOf } from "../fixtures/request.ts";
import { runToExit, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const hasDatabaseServer = process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
const redisUrl = process.env.OSTIARY_TEST_REDIS_URL;
/** A node renews its membership once in a second. */
const RENEWALS_MS = 3_000;
const ALONE = { REDIS_URL: undefined, OSTIARY_LOG: "silent" };

describe.skipIf(!hasDatabaseServer)("a node that is stopped while it joins the others", () => {
  it("leaves no entry behind, which would keep others from starting", async () => {
    await using former = await startService({ env: ALONE });
    await former.stop();
    await using sql = await openDatabaseOf(former);
    const entries = () => sql<{ label: string }[]>`select label from nodes`;
    const stopped = await sql.transaction("", async (transaction) => {
      // A node that has entered writes its position to this row.
      await transaction`select from installation for update`;
      const exit = runToExit({ databaseUrl: former.databaseUrl ?? "", env: ALONE });
      await expect.poll(async () => (await entries()).length, { timeout: 30_000 }).toBe(1);
      const [entry] = await entries();
      process.kill(Number(/process (\d+)/.exec(entry?.label ?? "")?.[1]), "SIGTERM");
      return { exit };
    });
    expect((await stopped.exit).code).toBe(0);
    expect(await entries()).toEqual([]);
  });
});

describe.skipIf(!hasDatabaseServer)("a node without Redis that was killed and lost its data folder", () => {
  it("keeps its successor from starting, which reports for how long and what to do", async () => {
    await using killed = await startService({ env: ALONE });
    const { key } = await signUpWithKey(killed.baseUrl);
    await killed.kill();
    const databaseUrl = killed.databaseUrl ?? "";

    const refused = await runToExit({ databaseUrl, env: ALONE });
    expect(refused.code).toBe(1);
    const [line = "", ...others] = refused.reasons;
    expect(others).toEqual([]);
    // Which node, since when, for how long.
    expect(line).toContain(`data folder ${killed.dataDir}`);
    expect(line).toMatch(/last seen \d+ s ago/);
    expect(line).toMatch(/blocks other nodes for another 9 min \d+ s/);
    // What to do.
    expect(line).toContain("start on its data folder");
    expect(line).toContain("OSTIARY_TAKE_OVER=1");

    await using sql = await openDatabaseOf(killed);
    const ended = await sql<{ id: bigint }[]>`
      insert into credit_reserves (account_id, spender, granted_nano_usd, number)
      select accounts.id, credit_spenders.id, 1, 1 from accounts, credit_spenders returning spender as id`;
    const start = () => startService({ databaseUrl, env: { ...ALONE, OSTIARY_TAKE_OVER: "1" } });
    // The credit of an account that is locked is released when it is not.
    const locked = await inTransaction(sql, async (transaction) => {
      await transaction`select from accounts for no key update`;
      return during(transaction, start);
    });
    await using successor = locked;
    expect(await statusOf(successor.baseUrl, key)).toBe(200);
    const spenders = async () =>
      (await sql<{ id: bigint }[]>`select id from credit_spenders`).map(({ id }) => id);
    await expect.poll(spenders, { timeout: 20_000 }).not.toContain(ended[0]?.id);
  });

  it("keeps a node with Redis from starting, with the same message and for no longer if the database's clock was ahead", async () => {
    if (redisUrl === undefined) return;
    await using killed = await startService({ env: ALONE });
    await killed.kill();
    await using sql = await openDatabaseOf(killed);
    await sql`update nodes set seen_at = now() + interval '1 day'`;
    const { code, stderr } = await runToExit({
      databaseUrl: killed.databaseUrl ?? "",
      env: { OSTIARY_LOG: "silent" },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("A node without REDIS_URL uses the database");
    expect(stderr).toMatch(/blocks other nodes for another 9 min \d+ s/);
    expect(stderr).toContain("OSTIARY_TAKE_OVER=1");
  });
});

describe.skipIf(!hasDatabaseServer)("a node whose data folder was copied while it ran", () => {
  it.each(["without", "with"])(
    "%s Redis stops when a node is started on the copy, which goes on",
    async (kind) => {
      if (kind === "with" && redisUrl === undefined) return;
      const env = kind === "with" ? { OSTIARY_LOG: "silent" } : ALONE;
      await using original = await startService({ env });
      const owner = await signUpWithKey(original.baseUrl);
      expect(await statusOf(original.baseUrl, owner.key)).toBe(200);
      await using folder = await copyOf(original.dataDir);
      await using copy = await startService({
        env,
        dataDir: folder.path,
        databaseUrl: original.databaseUrl ?? "",
      });
      await expect.poll(() => statusOf(original.baseUrl, owner.key).catch(() => "ended")).toBe("ended");
      // It ends without a signal, or by the second one.
      await original.stop();
      await setTimeout(RENEWALS_MS);
      expect(await statusOf(copy.baseUrl, owner.key)).toBe(200);
      expect(await copy.stop()).toBe(0);
    },
  );

  it.skipIf(redisUrl === undefined)("stops as a whole when it has several workers", async () => {
    const env = { OSTIARY_LOG: "silent", OSTIARY_WORKERS: "2" };
    await using original = await startService({ env });
    const owner = await signUpWithKey(original.baseUrl);
    await using folder = await copyOf(original.dataDir);
    await using copy = await startService({
      env,
      dataDir: folder.path,
      databaseUrl: original.databaseUrl ?? "",
    });
    await expect.poll(() => statusOf(original.baseUrl, owner.key).catch(() => "ended")).toBe("ended");
    expect(await original.stop()).toBe(0);
    await setTimeout(RENEWALS_MS);
    expect(await statusOf(copy.baseUrl, owner.key)).toBe(200);
    expect(await copy.stop()).toBe(0);
  });
});

/** A copy of a data folder, without the lock of its process. */
async function copyOf(dataDir: string): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "ostiary-copy-"));
  await cp(dataDir, path, { recursive: true, filter: (name) => basename(name) !== "lock" });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
