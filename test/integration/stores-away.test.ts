import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import { logLines, RUNTIME, runToExit, startService } from "../fixtures/service.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const hasDatabaseServer = process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
const redisServer = process.env.OSTIARY_TEST_REDIS_URL;
const ALONE = { REDIS_URL: undefined, OSTIARY_LOG: "silent" };

/** A node whose connections to the database run through a proxy, and a key that it can find there. */
async function startBehindProxy(env: Readonly<Record<string, string>>) {
  const first = await startService({ env: ALONE });
  const url = new URL(first.databaseUrl ?? "");
  const { key } = await signUpWithKey(first.baseUrl);
  await first.stop();
  const way = await openTcpProxy(Number(url.port));
  url.port = String(way.port);
  const node = await startService({ databaseUrl: url.href, env: { ...ALONE, ...env } });
  return {
    key,
    way,
    node,
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await way[Symbol.asyncDispose]();
      // Its database is removed with it.
      await first[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(!hasDatabaseServer)("while the database is unreachable, a single node", () => {
  it("serves the keys that it knows, and answers 503 rather than 401 for others", async () => {
    await using first = await startService({ env: ALONE });
    const url = new URL(first.databaseUrl ?? "");
    const known = await signUpWithKey(first.baseUrl);
    const unknown = await signUpWithKey(first.baseUrl);
    await first.stop();

    await using way = await openTcpProxy(Number(url.port));
    url.port = String(way.port);
    await using node = await startService({ databaseUrl: url.href, env: ALONE });
    expect(await statusOf(node.baseUrl, known.key)).toBe(200);
    way.cut();
    for (let number = 0; number < 20; number++) expect(await statusOf(node.baseUrl, known.key)).toBe(200);
    const response = await fetch(`${node.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${unknown.key}` },
    });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    // A key that was never minted here needs no database to be told from one that was.
    expect(await statusOf(node.baseUrl, `sk-${"A".repeat(49)}`)).toBe(401);
    way.heal();
    await expect.poll(() => statusOf(node.baseUrl, unknown.key)).toBe(200);
  });
});

describe.skipIf(!hasDatabaseServer)("while the database is silent, a node that stores entries there", () => {
  it("answers requests with idempotency keys 503 with its reason, so that clients send them again", async () => {
    await using behind = await startBehindProxy({ AUDIT_DURABILITY: "database" });
    const { key, way, node } = behind;
    expect(await statusOf(node.baseUrl, key)).toBe(200);
    way.stall();
    const response = await sendChat(node.baseUrl, key, {}, { headers: { "idempotency-key": "once" } });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get("retry-after"))).toBe(1);
    expect(response.headers.get("x-should-retry")).toBeNull();
    expect((await response.json()).error.message).toContain("cannot handle this request at the moment");
    way.heal();
  });
});

describe.skipIf(!hasDatabaseServer || redisServer === undefined)(
  "while the database is unreachable, a node with Redis",
  () => {
    it("serves the keys that it knows, also once a day has passed since it read their account", async () => {
      const prefix = crypto.randomUUID();
      await using behind = await startBehindProxy({
        REDIS_URL: redisServer ?? "",
        OSTIARY_REDIS_PREFIX: prefix,
      });
      const { key, way, node } = behind;
      expect(await answerStatus(node.baseUrl, key)).toBe(200);
      way.cut();
      const redis = new Redis(redisServer ?? "");
      try {
        const accounts = (await redis.keys(`${prefix}:{*}`)).filter((name) => name.endsWith("}"));
        expect(accounts).toHaveLength(1);
        await redis.expire(accounts[0] ?? "", 60);
      } finally {
        redis.disconnect();
      }
      for (let number = 0; number < 20; number++) expect(await answerStatus(node.baseUrl, key)).toBe(200);
      way.heal();
    });
  },
);

// Its clock is set by an option of Node's.
describe.skipIf(!hasDatabaseServer || RUNTIME === "deno")("a node whose machine was suspended", () => {
  const CLOCK = new URL("../fixtures/shifted-clock.mjs", import.meta.url).href;
  const SUSPENDED_MS = 10 * 60_000;
  const env = { NODE_OPTIONS: `--import=${CLOCK}`, TEST_SUSPENDED_MS: String(SUSPENDED_MS) };
  const kinds: Record<string, Readonly<Record<string, string>>> = {
    "that is alone": {},
    ...(redisServer === undefined
      ? {}
      : { "that shares Redis": { REDIS_URL: redisServer, OSTIARY_REDIS_PREFIX: crypto.randomUUID() } }),
  };
  for (const [kind, more] of Object.entries(kinds)) {
    it(`admits requests only once the database has confirmed its membership: one ${kind}`, async () => {
      await using behind = await startBehindProxy({ ...env, ...more });
      const { key, way, node } = behind;
      expect(await statusOf(node.baseUrl, key)).toBe(200);
      way.cut();
      for (let number = 0; number < 20; number++) expect(await statusOf(node.baseUrl, key)).toBe(200);
      process.kill(node.pid, "SIGUSR2");
      await expect.poll(() => statusOf(node.baseUrl, key)).toBe(503);
      for (let number = 0; number < 20; number++) expect(await statusOf(node.baseUrl, key)).toBe(503);
      way.heal();
      await expect.poll(() => statusOf(node.baseUrl, key)).toBe(200);
      // While the database answers, a clock that is set ahead costs no more than the next renewal.
      process.kill(node.pid, "SIGUSR2");
      await expect.poll(() => statusOf(node.baseUrl, key)).toBe(200);
    });
  }
});

describe.skipIf(!hasDatabaseServer)("a node whose entries have to be in the database", () => {
  it("goes on when a procedure's entry does not get there, and does not answer it", async () => {
    await using behind = await startBehindProxy({ AUDIT_DURABILITY: "database" });
    const { key, way, node } = behind;
    expect(await statusOf(node.baseUrl, key)).toBe(200);
    way.cut();
    // Not one of the service's, so it is refused without the database.
    const refused = await fetch(`${node.baseUrl}/trpc/no.procedure`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(refused.status).toBe(503);
    expect((await fetch(`${node.baseUrl}/healthz`)).status).toBe(200);
    way.heal();
    await expect.poll(() => statusOf(node.baseUrl, key)).toBe(200);
  });
});

describe.skipIf(!hasDatabaseServer)("the log of an outage of the database", () => {
  it("tells its reasons, without the stacks of faults of the service", async () => {
    await using behind = await startBehindProxy({ OSTIARY_LOG: "warn" });
    const { key, way, node } = behind;
    expect(await statusOf(node.baseUrl, key)).toBe(200);
    way.cut();
    await claim(node.baseUrl, key);
    for (const message of ["a background job failed", "inserting audit entries into the database failed"]) {
      await expect.poll(() => node.stderr(), { timeout: 20_000 }).toContain(message);
    }
    await expect.poll(() => node.stderr(), { timeout: 20_000 }).toContain("PostgreSQL does not answer");
    expect(node.stderr()).not.toContain('"stack"');
    way.heal();
    await expect.poll(async () => (await fetch(`${node.baseUrl}/readyz`)).status).toBe(200);
  });
});

describe.skipIf(redisServer === undefined)("the log of an outage of Redis", () => {
  it("tells each reason once, although several connections have it", async () => {
    const url = new URL(redisServer ?? "");
    await using way = await openTcpProxy(Number(url.port));
    url.port = String(way.port);
    const env = { REDIS_URL: url.href, OSTIARY_REDIS_PREFIX: crypto.randomUUID() };
    await using node = await startService({ env });
    way.cut();
    await expect.poll(() => node.stderr(), { timeout: 20_000 }).toContain("Redis does not answer");
    const lines = logLines(node.stderr()).filter(({ part }) => part === "redis");
    expect(lines.length).toBeGreaterThan(0);
    expect(new Set(lines.map(({ msg }) => msg)).size).toBe(lines.length);
    way.heal();
    await expect.poll(async () => (await fetch(`${node.baseUrl}/readyz`)).status).toBe(200);
  });
});

describe.skipIf(!hasDatabaseServer)("while the database does not do its work, a single node", () => {
  interface Trouble {
    readonly stop: string;
    readonly goOn: string;
    /** What the node's log says, and a start. */
    readonly logged: string;
    readonly refusal: string;
    /** What operators see; `null`: nothing, because their sessions cannot be read. */
    readonly problem: string | null;
    readonly readiness: { readonly status: string; readonly reason?: string };
  }
  /** Sessions keep the setting that they began with. */
  const troubles: Record<string, Trouble> = {
    "takes no writes": {
      stop: "set default_transaction_read_only = on",
      goOn: "reset default_transaction_read_only",
      logged: "PostgreSQL refuses to write",
      refusal: "it accepts no writes, because default_transaction_read_only is on. Turn it off",
      problem: "refuses to write",
      // Most requests need no write.
      readiness: { status: "ready" },
    },
    "refuses connections": {
      stop: "allow_connections false",
      goOn: "allow_connections true",
      logged: "PostgreSQL accepts no connections",
      refusal: "is not currently accepting connections",
      problem: null,
      readiness: { status: "not ready", reason: "PostgreSQL accepts no connections" },
    },
  };
  for (const [what, { stop, goOn, logged, refusal, problem, readiness }] of Object.entries(troubles)) {
    it(`serves what needs no statement, and answers 503 until it does again: ${what}`, async () => {
      await using node = await startOperatedService({ env: { ...ALONE, OSTIARY_LOG: "warn" } });
      const { key } = await signUpWithKey(node.baseUrl);
      const operator = await signInOperator(node.baseUrl);
      const url = new URL(node.databaseUrl ?? "");
      const name = url.pathname.slice(1);
      url.pathname = "/postgres";
      await using sql = await openDatabaseOf({ ...node, databaseUrl: url.href });
      expect(await claim(node.baseUrl, key)).toEqual({ status: 200, retryAfter: null });

      await sql.unsafe(`alter database "${name}" ${stop}`);
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
      // The first ones may still find a connection that has just been closed.
      for (let number = 0; number < 20; number++) {
        expect(await claim(node.baseUrl, key)).toEqual({ status: 503, retryAfter: "1" });
        expect(await statusOf(node.baseUrl, key)).toBe(200);
      }
      const second = await runToExit({ databaseUrl: node.databaseUrl ?? "", env: ALONE });
      expect(second.code).toBe(1);
      expect(second.reasons).toEqual([expect.stringContaining(refusal)]);
      expect(second.reasons[0]).toContain("Cannot use the database of DATABASE_URL");
      await expect.poll(() => node.stderr(), { timeout: 20_000 }).toContain(logged);
      expect(await (await fetch(`${node.baseUrl}/readyz`)).json()).toEqual(readiness);
      expect(await (await fetch(`${node.baseUrl}/metrics`)).text()).toContain("\nostiary_database_up 0\n");
      const status = await operator.trpc.operator.status.query().catch(() => null);
      expect(status?.database.problem ?? null).toBe(problem);
      await sql.unsafe(`alter database "${name}" ${goOn}`);
      await expect.poll(() => claim(node.baseUrl, key)).toEqual({ status: 200, retryAfter: null });
    });
  }
});

/** Sends a request with a new idempotency key, whose claim is written to the database. */
async function claim(baseUrl: string, key: string) {
  const { status, headers } = await ask(baseUrl, key, { "idempotency-key": crypto.randomUUID() });
  return { status, retryAfter: headers.get("retry-after") };
}

/** The status of a request that limits apply to. */
async function answerStatus(baseUrl: string, key: string): Promise<number> {
  return (await ask(baseUrl, key)).status;
}

async function ask(baseUrl: string, key: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await sendChat(baseUrl, key, {}, { headers });
  await response.arrayBuffer();
  return response;
}

describe.skipIf(!hasDatabaseServer)("a second node on the same database", () => {
  it("is refused where nodes could not inform each other of changes", async () => {
    await using first = await startService({ env: ALONE });
    const databaseUrl = first.databaseUrl ?? "";
    const second = await runToExit({ databaseUrl, env: ALONE });
    expect(second.code).toBe(1);
    expect(second.stderr).toContain("Set REDIS_URL");
    expect(second.stderr).toContain("OSTIARY_TAKE_OVER=1");
    expect((await fetch(`${first.baseUrl}/readyz`)).status).toBe(200);
    // One that takes the place of a node that is stopping waits for it.
    const successor = startService({ databaseUrl, env: ALONE });
    await first.stop();
    await using next = await successor;
    expect((await fetch(`${next.baseUrl}/readyz`)).status).toBe(200);
  });

  it("is refused when only one of the nodes has a Redis", async () => {
    const redisUrl = process.env.OSTIARY_TEST_REDIS_URL;
    if (redisUrl === undefined) return;
    await using first = await startService();
    const { code, stderr } = await runToExit({ databaseUrl: first.databaseUrl ?? "", env: ALONE });
    expect(code).toBe(1);
    expect(stderr).toContain("Set REDIS_URL");
    await using second = await startService({ databaseUrl: first.databaseUrl ?? "" });
    expect((await fetch(`${second.baseUrl}/readyz`)).status).toBe(200);
  });

  it("is refused while the first can't reach the database, as that one may continue", async () => {
    await using first = await startService({ env: ALONE });
    const url = new URL(first.databaseUrl ?? "");
    await first.stop();
    await using way = await openTcpProxy(Number(url.port));
    const direct = url.href;
    url.port = String(way.port);
    await using cutOff = await startService({ databaseUrl: url.href, env: ALONE });
    const { key } = await signUpWithKey(cutOff.baseUrl);
    expect(await statusOf(cutOff.baseUrl, key)).toBe(200);
    way.cut();
    const second = await runToExit({ databaseUrl: direct, env: ALONE });
    expect(second.code).toBe(1);
    expect(await statusOf(cutOff.baseUrl, key)).toBe(200);
    // Somebody says that it is gone: then it must be.
    await using successor = await startService({
      databaseUrl: direct,
      env: { ...ALONE, OSTIARY_TAKE_OVER: "1" },
    });
    expect(await statusOf(successor.baseUrl, key)).toBe(200);
    way.heal();
    await expect.poll(() => statusOf(cutOff.baseUrl, key).catch(() => "gone")).not.toBe(200);
  });

  it("is accepted once the first has been cut off for 10 minutes, and the first stops when it comes back", async () => {
    await using prepared = await startService({ env: ALONE });
    const url = new URL(prepared.databaseUrl ?? "");
    await prepared.stop();
    await using way = await openTcpProxy(Number(url.port));
    const direct = url.href;
    url.port = String(way.port);
    await using cutOff = await startService({ databaseUrl: url.href, env: ALONE });
    const { key } = await signUpWithKey(cutOff.baseUrl);
    way.cut();
    await using sql = await openDatabaseOf(prepared);
    await sql`update nodes set seen_at = now() - interval '10 minutes'`;
    await using successor = await startService({ databaseUrl: direct, env: ALONE });
    expect(await statusOf(successor.baseUrl, key)).toBe(200);
    way.heal();
    // Two nodes that do not hear of each other's changes must not both admit the key.
    await expect.poll(() => statusOf(cutOff.baseUrl, key).catch(() => "gone")).not.toBe(200);
    expect(await statusOf(successor.baseUrl, key)).toBe(200);
  });

  it("misses no revocation that the first answers before it knows that it was replaced", async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      await using first = await startService({ env: ALONE });
      const { trpc, id } = await signUpWithKey(first.baseUrl);
      await using sql = await openDatabaseOf(first);
      // As a start with OSTIARY_TAKE_OVER=1 does. The first finds out within a second, and until then it must not say that all nodes know.
      await sql`delete from nodes`;
      const answered = await trpc.keys.revoke.mutate({ id }).then(
        () => true,
        () => false,
      );
      expect(answered).toBe(false);
    }
  });

  it("is accepted as the same node when it was killed and started on its data folder", async () => {
    await using first = await startService({ env: ALONE });
    await first.kill();
    await using again = await startService({
      dataDir: first.dataDir,
      databaseUrl: first.databaseUrl ?? "",
      env: ALONE,
    });
    expect((await fetch(`${again.baseUrl}/readyz`)).status).toBe(200);
  });

  it("is refused with another Redis or another key prefix", async () => {
    if (process.env.OSTIARY_TEST_REDIS_URL === undefined) return;
    await using first = await startService();
    const databaseUrl = first.databaseUrl ?? "";
    const elsewhere = await runToExit({
      databaseUrl,
      env: { OSTIARY_REDIS_PREFIX: `test:${crypto.randomUUID()}` },
    });
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stderr).toContain("must be the same for all nodes");
  });
});
