import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type RedisServer, startRedis } from "../fixtures/redis.ts";
import { startService } from "../fixtures/service.ts";
import { type FaultyNode, type FaultyNodes, startFaultyNodes } from "./faulty-nodes.ts";
import { ANSWER_COST, waitsFor } from "./gated-model.ts";
import { isDistributed } from "./load.ts";
import { type Account, expectPaid, openAccount } from "./money.ts";
import { ask, askTimes, askUntil, type Outcome, RECOVERY, statusesOf } from "./requests.ts";

const CREDIT = 10_000n * ANSWER_COST;
const AT_ONCE = 10;
/** A node renews the slots of running requests every 15 seconds; the rest is for a busy machine. */
const RENEWAL_TIMEOUT_MS = 25_000;

let nodes: FaultyNodes;
/** The Redis server that replaced the first one. */
let successor: RedisServer | null = null;

beforeAll(async () => {
  if (isDistributed) nodes = await startFaultyNodes();
});

afterEach(async ({ task }) => {
  for (const node of [nodes?.node, nodes?.other]) node?.redis.heal();
  await nodes?.node.mend(task.result?.state === "fail");
});

afterAll(async () => {
  await nodes?.[Symbol.asyncDispose]();
  await successor?.[Symbol.asyncDispose]();
});

/** An account with a limit of {@link AT_ONCE} concurrent requests. */
async function openLimited(): Promise<Account> {
  const account = await openAccount(nodes.operator, CREDIT);
  const limits = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: AT_ONCE };
  await nodes.operator.trpc.operator.accounts.setLimits.mutate({ id: account.accountId, limits });
  return account;
}

/** Sends as many requests as the limit allows, and resolves when all wait for the model. */
async function fill({ key }: Account, gate: string): Promise<{ readonly outcomes: Promise<Outcome[]> }> {
  const outcomes = askTimes(AT_ONCE, nodes.node.baseUrl, key, { content: waitsFor(gate), timeoutMs: 60_000 });
  await expect.poll(() => nodes.model.waiting(gate), { interval: 5 }).toBe(AT_ONCE);
  return { outcomes };
}

/** How many slots are taken, by what Redis knows. */
async function slotsTaken(account: Account): Promise<number> {
  return (await account.trpc.account.limits.query()).used.concurrent;
}

/** Expects all slots to be free long before their leases end, and the full number of requests to be admitted. */
async function expectAllFree(account: Account, gate: string): Promise<Outcome[]> {
  await expect.poll(() => slotsTaken(account), { ...RECOVERY, interval: 200 }).toBe(0);
  const { outcomes } = await fill(account, gate);
  nodes.model.open(gate);
  const ended = await outcomes;
  expect(statusesOf(ended)).toEqual([200]);
  return ended;
}

describe.skipIf(!isDistributed)("a node whose connections to Redis have gone silent", () => {
  it("opens new ones, and serves requests again", async () => {
    const { node, other, operator } = nodes;
    const account = await openAccount(operator, CREDIT);
    const outcomes = [await ask(node.baseUrl, account.key)];
    node.redis.blackHole({ connections: "existing" });
    const silent = askTimes(10, node.baseUrl, account.key);
    const elsewhere = askTimes(10, other.baseUrl, account.key);
    outcomes.push(...(await askUntil(({ status }) => status === 200, node.baseUrl, account.key)));
    await expect.poll(node.readiness, RECOVERY).toBe(200);
    expect(statusesOf(await elsewhere)).toEqual([200]);
    outcomes.push(
      ...(await silent),
      ...(await elsewhere),
      ...(await askTimes(10, node.baseUrl, account.key)),
    );
    expect(outcomes.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    expect(outcomes.slice(-10).filter(({ status }) => status !== 200)).toEqual([]);
    await nodes.settled();
    await expectPaid(operator, account, outcomes);
  });
});

describe.skipIf(!isDistributed)("concurrency slots", () => {
  it("are free again when Redis granted them and its answers were lost", async () => {
    const { node } = nodes;
    const account = await openLimited();
    const before = await ask(node.baseUrl, account.key);
    node.redis.blackHole({ direction: "to client", connections: "existing" });
    const lost = await askTimes(AT_ONCE, node.baseUrl, account.key);
    expect(statusesOf(lost)).toEqual([503]);
    node.redis.heal();
    const after = await expectAllFree(account, "after lost answers");
    await nodes.settled();
    await expectPaid(nodes.operator, account, [before, ...after]);
  });

  it("are free again when Redis was away as their requests ended", async () => {
    const { node, model } = nodes;
    const account = await openLimited();
    const { outcomes } = await fill(account, "cut off at the end");
    node.redis.cut();
    model.open("cut off at the end");
    const ended = await outcomes;
    expect(statusesOf(ended)).toEqual([200]);
    node.redis.heal();
    const after = await expectAllFree(account, "after the cut");
    await nodes.settled();
    await expectPaid(nodes.operator, account, [...ended, ...after]);
  });

  const losses: Readonly<Record<string, (node: FaultyNode) => Promise<unknown>>> = {
    "Redis comes back empty": () => nodes.redis.restart("empty"),
    // Stands for a cut that is longer than a slot's lease.
    "Redis has forgotten them while their node was cut off": async (node) => {
      node.redis.cut();
      await nodes.redis.command("flushall");
      node.redis.heal();
    },
  };
  for (const [what, lose] of Object.entries(losses)) {
    it(`are taken again by running requests when ${what}`, async () => {
      const { node, other, model } = nodes;
      const account = await openLimited();
      const { outcomes } = await fill(account, what);
      await lose(node);
      const taken = () => slotsTaken(account).catch(() => null);
      await expect.poll(taken, { timeout: RENEWAL_TIMEOUT_MS, interval: 200 }).toBe(AT_ONCE);
      for (const { baseUrl } of [node, other]) expect((await ask(baseUrl, account.key)).status).toBe(429);
      model.open(what);
      const ended = await outcomes;
      expect(statusesOf(ended)).toEqual([200]);
      const after = await expectAllFree(account, `${what}: after`);
      await nodes.settled();
      await expectPaid(nodes.operator, account, [...ended, ...after]);
    });
  }
});

describe.skipIf(!isDistributed)("a Redis server that may evict keys", () => {
  it("is refused or warned of, with the setting to change", async () => {
    await using evicting = await startRedis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-random");
    const said = await startService({ env: { REDIS_URL: evicting.url, OSTIARY_LOG: "warn" } }).then(
      async (service) => {
        await using started = service;
        return started.stderr();
      },
      (refused: Error) => refused.message,
    );
    expect(said).toContain("noeviction");
  });
});

// The last test of this file, because it leaves the nodes with another Redis server.
describe.skipIf(!isDistributed)("a node that comes back to the old Redis server after a failover", () => {
  it("admits no requests, so that a key that was revoked elsewhere is not accepted there", async () => {
    const { node, other, redis, operator } = nodes;
    const account = await openAccount(operator, CREDIT);
    const revoked = await account.trpc.keys.create.mutate({ name: "to be revoked" });
    for (const { baseUrl } of [node, other]) {
      for (const key of [account.key, revoked.key]) expect((await ask(baseUrl, key)).status).toBe(200);
    }
    const replica = await startRedis();
    successor = replica;
    // No node sees that the first replica gives the old server a new replication id.
    for (const each of [node, other]) each.redis.cut();
    await redis.command("config", "set", "repl-diskless-sync-delay", "0");
    await replica.command("replicaof", "127.0.0.1", String(redis.port));
    const state = () => replica.command("info", "replication");
    await expect.poll(state, { interval: 50 }).toContain("master_link_status:up");
    await replica.command("replicaof", "no", "one");
    other.redis.retarget(replica.port);
    other.redis.heal();
    await askUntil(({ status }) => status === 200, other.baseUrl, account.key);
    await account.trpc.keys.revoke.mutate({ id: revoked.id });
    expect((await ask(other.baseUrl, revoked.key)).status).toBe(401);

    node.redis.heal();
    await expect.poll(() => node.service.stderr(), RECOVERY).toContain("other nodes use a newer Redis");
    const then = await askTimes(20, node.baseUrl, revoked.key);
    expect(statusesOf(then).filter((status) => status !== 401 && status !== 503)).toEqual([]);
    expect(await node.readiness()).toBe(503);
    expect((await ask(other.baseUrl, account.key)).status).toBe(200);

    node.redis.retarget(replica.port);
    node.redis.cut({ connections: "existing" });
    await askUntil(({ status }) => status === 200, node.baseUrl, account.key);
    expect((await ask(node.baseUrl, revoked.key)).status).toBe(401);
  });
});
