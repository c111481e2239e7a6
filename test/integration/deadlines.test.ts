import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { startRedis } from "../fixtures/redis.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { type Owner, PASSWORD, signUpWithKey, visit } from "../fixtures/user.ts";

const hasDatabaseServer = process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
const DRAIN_S = 1;
const ENV = { REDIS_URL: undefined, OSTIARY_LOG: "silent", OSTIARY_DRAIN_S: String(DRAIN_S) };

// What is promised, and room for a machine that has other things to do.
const ROOM_MS = 15_000;
const READY_WITHIN_MS = 2_000 + ROOM_MS;
const ANSWERED_WITHIN_MS = 5_000 + ROOM_MS;
const RECOVERED_WITHIN_MS = 10_000 + ROOM_MS;
const ENDED_WITHIN_MS = DRAIN_S * 1_000 + 5_000 + ROOM_MS;

/** A proxy to a server whose open connections can go silent, as behind a firewall that has dropped their state. */
interface ForgetfulProxy extends AsyncDisposable {
  readonly port: number;
  /** Makes the open connections silent in both directions. New ones work. */
  forget(): void;
}

async function openForgetfulProxy(targetPort: number): Promise<ForgetfulProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(targetPort, "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk) => to.write(chunk));
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    forget: () => {
      for (const socket of sockets) socket.pause();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** A database of its own, for services that reach it another way. */
async function emptyDatabase(): Promise<{ readonly service: Service; readonly port: number }> {
  const service = await startService({ env: ENV });
  await service.stop();
  return { service, port: Number(new URL(service.databaseUrl ?? "").port) };
}

function through(service: Service, port: number): string {
  const url = new URL(service.databaseUrl ?? "");
  url.port = String(port);
  return url.href;
}

/** The status of each way to read what only the database knows; fails when one does not answer in time. */
async function statuses(
  baseUrl: string,
  owner: Owner & { readonly key: string },
): Promise<Record<"audit" | "export" | "balance" | "usage", number>> {
  const authorization = { authorization: `Bearer ${owner.key}` };
  const get = async (path: string, headers: Record<string, string>) => {
    const signal = AbortSignal.timeout(ANSWERED_WITHIN_MS);
    const response = await fetch(`${baseUrl}${path}`, { headers, signal });
    await response.arrayBuffer();
    return response.status;
  };
  const [audit, exported, balance, usage] = await Promise.all([
    get("/v1/audit", authorization),
    get("/v1/audit/export", authorization),
    get("/trpc/credits.balance", authorization),
    get("/v1/usage?from=2026-01-01&to=2026-01-31&interval=day", authorization),
  ]);
  return { audit, export: exported, balance, usage };
}

async function readiness(baseUrl: string): Promise<number> {
  return (await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(READY_WITHIN_MS) })).status;
}

async function chat(baseUrl: string, key: string): Promise<number> {
  const response = await sendChat(baseUrl, key);
  await response.arrayBuffer();
  return response.status;
}

const OK = { audit: 200, export: 200, balance: 200, usage: 200 };
const AWAY = { audit: 503, export: 503, balance: 503, usage: 503 };

/** Resolves with how long it took until all answer again. */
async function recovery(baseUrl: string, owner: Owner & { readonly key: string }): Promise<number> {
  const sinceMs = performance.now();
  await expect.poll(() => statuses(baseUrl, owner), { timeout: 60_000 }).toEqual(OK);
  await expect.poll(() => readiness(baseUrl)).toBe(200);
  return performance.now() - sinceMs;
}

async function exitTime(service: Service): Promise<number> {
  const sinceMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`still running:\n${service.stderr()}`)), ENDED_WITHIN_MS);
  });
  try {
    await Promise.race([service.stop(), late]);
  } catch (error) {
    await service.kill();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return performance.now() - sinceMs;
}

describe("while requests hold all database connections", () => {
  it("/readyz reports in time that the database answers", async () => {
    await using service = await startService({ env: ENV });
    const owners = [await signUpWithKey(service.baseUrl), await signUpWithKey(service.baseUrl)];
    const ask = (path: string, headers: Record<string, string>) =>
      fetch(`${service.baseUrl}${path}`, { headers });
    await using sql = await openDatabaseOf(service);
    const reading = await sql.transaction("", async (transaction) => {
      await transaction`lock table audit_entries, sessions in access exclusive mode`;
      const waiting = (table: string) => async () =>
        (await transaction`select from pg_locks where not granted and relation = ${table}::regclass`).length;
      const often = (request: (owner: (typeof owners)[number]) => Promise<Response>) =>
        owners.flatMap((owner) => Array.from({ length: 10 }, () => request(owner)));
      // Reads leave one of their four connections to background jobs.
      const requests = often(({ key }) => ask("/v1/audit", { authorization: `Bearer ${key}` }));
      await expect.poll(waiting("audit_entries")).toBeGreaterThanOrEqual(3);
      requests.push(...often((owner) => ask("/trpc/auth.me", { cookie: owner.cookie() })));
      await expect.poll(waiting("sessions")).toBe(5);
      expect(await readiness(service.baseUrl)).toBe(200);
      return { requests };
    });
    // Those that had a connection go on when the lock is gone, and the others after them.
    for (const response of await Promise.all(reading.requests))
      expect([200, 429, 503]).toContain(response.status);
    expect(await readiness(service.baseUrl)).toBe(200);
  });
});

describe.skipIf(!hasDatabaseServer)("when database connections go silent and new ones work", () => {
  it("every request is answered again within 10 seconds, and /readyz all the time", async () => {
    const { service, port } = await emptyDatabase();
    await using _ = service;
    await using way = await openForgetfulProxy(port);
    await using node = await startService({ databaseUrl: through(service, way.port), env: ENV });
    const owner = await signUpWithKey(node.baseUrl);
    // So that several connections are open.
    await Promise.all(Array.from({ length: 8 }, () => statuses(node.baseUrl, owner)));
    way.forget();
    expect(await chat(node.baseUrl, owner.key)).toBe(200);
    const recovering = recovery(node.baseUrl, owner);
    expect([200, 503]).toContain(await readiness(node.baseUrl));
    expect(await recovering).toBeLessThan(RECOVERED_WITHIN_MS);
    expect(await chat(node.baseUrl, owner.key)).toBe(200);
  });
});

describe.skipIf(!hasDatabaseServer)("while no packets reach the database", () => {
  it("requests that need it get 503, and everything works within 10 seconds after it is back", async () => {
    const { service, port } = await emptyDatabase();
    await using _ = service;
    await using way = await openTcpProxy(port);
    await using node = await startService({ databaseUrl: through(service, way.port), env: ENV });
    const owner = await signUpWithKey(node.baseUrl);
    const unknown = await signUpWithKey(node.baseUrl);
    const revoked = await owner.trpc.keys.create.mutate({ name: "to be revoked" });
    expect(await statuses(node.baseUrl, owner)).toEqual(OK);
    way.stall();
    expect(await chat(node.baseUrl, owner.key)).toBe(200);
    const sinceMs = performance.now();
    // More than there are connections: none waits for the timeouts of those before.
    const all = Array.from({ length: 12 }, () => statuses(node.baseUrl, owner));
    const signIn = visit(node.baseUrl).trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    const revocation = owner.trpc.keys.revoke.mutate({ id: revoked.id });
    // Awaited together, so that none of them fails unnoticed after another.
    const [ready, stranger, failed, each] = await Promise.all([
      readiness(node.baseUrl),
      statusOf(node.baseUrl, unknown.key),
      Promise.allSettled([signIn, revocation]),
      Promise.all(all),
    ]);
    expect([ready, stranger]).toEqual([503, 503]);
    expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(each).toEqual(all.map(() => AWAY));
    expect(performance.now() - sinceMs).toBeLessThan(ANSWERED_WITHIN_MS);
    // The first failures were of connections that had gone silent; now there are none, and the answer is the same.
    expect(await statuses(node.baseUrl, owner)).toEqual(AWAY);
    expect(await readiness(node.baseUrl)).toBe(503);
    way.heal();
    expect(await recovery(node.baseUrl, owner)).toBeLessThan(RECOVERED_WITHIN_MS);
    await owner.trpc.keys.revoke.mutate({ id: revoked.id });
    expect(await statusOf(node.baseUrl, revoked.key)).toBe(401);
  });

  it("a service that is told to stop ends in time, and its entries exist after the next start", async () => {
    const { service, port } = await emptyDatabase();
    await using _ = service;
    await using way = await openTcpProxy(port);
    await using node = await startService({ databaseUrl: through(service, way.port), env: ENV });
    const owner = await signUpWithKey(node.baseUrl);
    expect(await chat(node.baseUrl, owner.key)).toBe(200);
    way.stall();
    expect(await chat(node.baseUrl, owner.key)).toBe(200);
    // One that will have no answer when the signal comes.
    const cut = statuses(node.baseUrl, owner).catch(() => null);
    expect(await exitTime(node)).toBeLessThan(ENDED_WITHIN_MS);
    await cut;
    way.heal();
    await using next = await startService({
      dataDir: node.dataDir,
      databaseUrl: service.databaseUrl ?? "",
      env: ENV,
    });
    const { trpc } = visit(next.baseUrl, { authorization: `Bearer ${owner.key}` });
    const { entries } = await trpc.audit.list.query({});
    expect(entries.filter(({ endpoint }) => endpoint === "POST /v1/chat/completions")).toHaveLength(2);
  });
});

describe.skipIf(!hasDatabaseServer)("while no packets reach Redis", () => {
  it("/readyz answers, and a service that is told to stop ends in time", async () => {
    await using redis = await startRedis();
    await using way = await openTcpProxy(redis.port);
    const env = { ...ENV, REDIS_URL: `redis://127.0.0.1:${way.port}` };
    await using node = await startService({ env });
    const owner = await signUpWithKey(node.baseUrl);
    expect(await chat(node.baseUrl, owner.key)).toBe(200);
    way.stall();
    expect(await readiness(node.baseUrl)).toBe(503);
    expect(await exitTime(node)).toBeLessThan(ENDED_WITHIN_MS);
    way.heal();
  });
});
