import { setMaxListeners } from "node:events";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type EnterpriseOwner,
  refusalOf,
  signInOperator,
  signUpEnterprise,
  startOperatedService,
} from "../fixtures/operator.ts";
import { type RedisServer, startRedis } from "../fixtures/redis.ts";
import { statusOf } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { openTcpProxy, type TcpProxy } from "../fixtures/tcp-proxy.ts";
import { type Visitor, visit } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const NODES = 4;
/** For each of the three changes. */
const CLIENTS = 12;
const ROUNDS = 50;
/** Between two requests of a client before the change is answered: most of a round waits for Redis, and needs no cores for that. */
const PAUSE_MS = 50;

let redis: RedisServer;
/** The last node's way to Redis. */
let wayOfLast: TcpProxy;
const nodes: Service[] = [];
let operator: Visitor;
let owner: EnterpriseOwner;
let changes: Record<string, Change>;

beforeAll(async () => {
  if (!isDistributed) return;
  redis = await startRedis();
  wayOfLast = await openTcpProxy(redis.port);
  const first = await startOperatedService({ env: { REDIS_URL: redis.url, OSTIARY_LOG: "silent" } });
  const { databaseUrl } = first;
  if (databaseUrl === undefined) throw new Error("nodes that share nothing prove nothing");
  const urls = [redis.url, redis.url, `redis://127.0.0.1:${wayOfLast.port}`];
  const others = urls.map((REDIS_URL) =>
    startOperatedService({ databaseUrl, env: { REDIS_URL, OSTIARY_LOG: "silent" } }),
  );
  nodes.push(first, ...(await Promise.all(others)));
  operator = await signInOperator(first.baseUrl);
  owner = await signUpEnterprise(first.baseUrl, operator);
  changes = await allChanges(first.baseUrl);
});

afterAll(async () => {
  for (const node of nodes.reverse()) await node[Symbol.asyncDispose]();
  await wayOfLast?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
});

function nodeAt(index: number): Service {
  const node = nodes[index % NODES];
  if (node === undefined) throw new Error("there is no node");
  return node;
}

/** Something that ends a key's right to pass, made to an account of its own, and how to give the right back. */
interface Change {
  readonly owner: EnterpriseOwner;
  readonly status: number;
  apply(key: { readonly id: string }): Promise<unknown>;
  undo(): Promise<unknown>;
}

/** The changes that end a right to pass. */
async function allChanges(baseUrl: string): Promise<Record<string, Change>> {
  const { accounts } = operator.trpc.operator;
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => signUpEnterprise(baseUrl, operator)));
  if (first === undefined || second === undefined || third === undefined) throw new Error("no accounts");
  const setNetworks = (networks: string[]) =>
    accounts.setIpRules.mutate({ id: third.accountId, rules: { networks } });
  return {
    "a revocation": {
      owner: first,
      status: 401,
      apply: ({ id }) => first.trpc.keys.revoke.mutate({ id }),
      undo: async () => {},
    },
    "a suspension": {
      owner: second,
      status: 403,
      apply: () => accounts.suspend.mutate({ id: second.accountId, reason: "test" }),
      undo: () => accounts.reinstate.mutate({ id: second.accountId }),
    },
    "an IP rule": {
      owner: third,
      status: 403,
      apply: () => setNetworks(["192.0.2.0/24"]),
      undo: () => setNetworks([]),
    },
  };
}

/** Repeats a change until it has been answered: what can't be made known yet says so. */
async function untilAnswered(change: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await change();
      return;
    } catch (error) {
      expect((error as { data?: { httpStatus: number } }).data?.httpStatus).toBe(503);
    }
  }
}

/** Clients that use one key at all nodes, until they are told to stop. All have been served once. */
async function startClients(name: string, change: Change) {
  const key = await change.owner.trpc.keys.create.mutate({ name: crypto.randomUUID() });
  const answered = new AbortController();
  setMaxListeners(CLIENTS, answered.signal);
  let stopped = false;
  const served = new Set<number>();
  const after: number[] = [];
  const client = async (index: number) => {
    while (!stopped) {
      const beganAfter = answered.signal.aborted;
      const status = await statusOf(nodeAt(index).baseUrl, key.key);
      if (status === 200) served.add(index);
      if (beganAfter) after.push(status);
      // The answer ends every pause: from then on each client asks without one.
      await setTimeout(PAUSE_MS, null, { signal: answered.signal }).catch(() => {});
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, index) => client(index));
  await expect.poll(() => served.size, { interval: 2 }).toBe(CLIENTS);
  return {
    async makeChange() {
      await untilAnswered(() => change.apply(key));
      answered.abort();
    },
    /** @returns the answers, other than the expected refusals, to requests that began after the change was answered. */
    async stop(otherRefusals: number[]): Promise<string[]> {
      await expect.poll(() => after.length, { interval: 2 }).toBeGreaterThan(2 * CLIENTS);
      stopped = true;
      await Promise.all(clients);
      await untilAnswered(() => change.undo());
      await change.owner.trpc.keys.revoke.mutate({ id: key.id });
      const others = after.filter((status) => ![change.status, ...otherRefusals].includes(status));
      return others.map((status) => `${name}: ${status}`);
    },
  };
}

/** Makes all changes at once, each under its own clients, while `disturb` disturbs Redis. @returns what was let through. */
async function letThrough(disturb: () => Promise<unknown>, otherRefusals: number[]): Promise<string[]> {
  const loads = await Promise.all(
    Object.entries(changes).map(([name, change]) => startClients(name, change)),
  );
  const disturbance = disturb();
  await Promise.all(loads.map((load) => load.makeChange()));
  await disturbance;
  return (await Promise.all(loads.map((load) => load.stop(otherRefusals)))).flat();
}

describe.skipIf(!isDistributed)("nodes that share a database and a Redis", () => {
  it("each see at once what another one has created", async () => {
    const { key } = await owner.trpc.keys.create.mutate({ name: crypto.randomUUID() });
    for (const node of nodes) await expect.poll(() => statusOf(node.baseUrl, key)).toBe(200);
  });

  it("count sign-in attempts together", async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    const codes: string[] = [];
    for (let number = 0; number < 12; number++) {
      const { trpc } = visit(nodeAt(number).baseUrl);
      codes.push((await refusalOf(trpc.auth.signIn.mutate({ email, password: "a wrong password" }))).code);
    }
    expect(codes).toEqual([
      ...Array(10).fill("wrong_credentials"),
      "rate_limit_exceeded",
      "rate_limit_exceeded",
    ]);
  });
});

describe.skipIf(!isDistributed)(
  "after a revocation, a suspension, or an IP rule is answered, no new request succeeds",
  () => {
    it("while all is well", { timeout: 240_000 }, async () => {
      for (let round = 0; round < ROUNDS; round++) expect(await letThrough(async () => {}, [])).toEqual([]);
    });

    it("while Redis is killed and comes back empty", { timeout: 300_000 }, async () => {
      for (let round = 0; round < ROUNDS; round++)
        expect(await letThrough(() => redis.restart(), [503])).toEqual([]);
    });

    it("while Redis comes back with what it knew before", { timeout: 240_000 }, async () => {
      for (let round = 0; round < 10; round++) {
        const restore = async () => {
          // Saved before the changes are made, restored after they may have been.
          await redis.save();
          await redis.restart("saved");
        };
        expect(await letThrough(restore, [503])).toEqual([]);
      }
    });

    it("while one node is cut off from Redis", { timeout: 240_000 }, async () => {
      for (let round = 0; round < 10; round++) {
        const cut = async () => (round % 2 === 0 ? wayOfLast.cut() : wayOfLast.stall());
        expect(await letThrough(cut, [503])).toEqual([]);
        wayOfLast.heal();
      }
    });
  },
);

describe.skipIf(!isDistributed)("a change made at a node that is cut off from Redis", () => {
  it("is answered once another node has published it", async () => {
    const last = nodeAt(NODES - 1);
    const there = visit(last.baseUrl, { cookie: owner.cookie() });
    const { id, key } = await owner.trpc.keys.create.mutate({ name: crypto.randomUUID() });
    // A node that was cut off until now connects to Redis again.
    for (const node of nodes) await expect.poll(() => statusOf(node.baseUrl, key)).toBe(200);
    wayOfLast.cut();
    await there.trpc.keys.revoke.mutate({ id });
    for (const node of nodes.slice(0, -1)) expect(await statusOf(node.baseUrl, key)).toBe(401);
    expect(await statusOf(last.baseUrl, key)).toBe(503);
    wayOfLast.heal();
    await expect.poll(() => statusOf(last.baseUrl, key)).toBe(401);
  });

  it("stays in force when the node dies before it could publish it", async () => {
    const { databaseUrl = "" } = nodeAt(0);
    const way = await openTcpProxy(redis.port);
    const doomed = await startOperatedService({
      databaseUrl,
      env: { REDIS_URL: `redis://127.0.0.1:${way.port}`, OSTIARY_LOG: "silent" },
    });
    const { id, key } = await owner.trpc.keys.create.mutate({ name: crypto.randomUUID() });
    for (const node of nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);
    way.stall();
    const cut = refusalOf(visit(doomed.baseUrl, { cookie: owner.cookie() }).trpc.keys.revoke.mutate({ id }));
    // Committed, as the other nodes can read it, and not answered yet.
    const isRevoked = async () =>
      (await owner.trpc.keys.list.query()).keys.find((candidate) => candidate.id === id)?.state === "revoked";
    await expect.poll(isRevoked, { interval: 5 }).toBe(true);
    await doomed.kill();
    await cut;
    for (const node of nodes) await expect.poll(() => statusOf(node.baseUrl, key)).toBe(401);
    await doomed[Symbol.asyncDispose]();
    await way[Symbol.asyncDispose]();
  });
});

describe.skipIf(!isDistributed)("while Redis is away", () => {
  it("requests get 503 rather than 401, and a change that is not in force says so", async () => {
    const { id, key } = await owner.trpc.keys.create.mutate({ name: crypto.randomUUID() });
    const unused = await owner.trpc.keys.create.mutate({ name: crypto.randomUUID() });
    for (const node of nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);
    await redis.kill();
    for (const node of nodes) {
      for (const candidate of [key, unused.key]) {
        const response = await fetch(`${node.baseUrl}/v1/models`, {
          headers: { authorization: `Bearer ${candidate}` },
        });
        expect(response.status).toBe(503);
        expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      }
    }
    expect(await refusalOf(owner.trpc.keys.revoke.mutate({ id }))).toEqual({
      status: 503,
      code: "server_is_overloaded",
    });
    await redis.start();
    for (const node of nodes) {
      // Nobody has called again: what could not be told is told as soon as it can be.
      await expect.poll(() => statusOf(node.baseUrl, key)).toBe(401);
      await expect.poll(() => statusOf(node.baseUrl, unused.key)).toBe(200);
    }
  });

  it("users can sign in, and password guesses stay limited", async () => {
    await redis.kill();
    const guess = () =>
      visit(nodeAt(0).baseUrl).trpc.auth.signIn.mutate({ email: owner.email, password: "a wrong password" });
    for (let number = 0; number < 10; number++) {
      expect((await refusalOf(guess())).code).toBe("wrong_credentials");
    }
    expect((await refusalOf(guess())).code).toBe("rate_limit_exceeded");
    await redis.start();
  });
});
