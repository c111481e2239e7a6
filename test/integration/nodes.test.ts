import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;
const isDistributed = REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const ROUNDS = 20;
const CLIENTS = 16;
const nodes: Service[] = [];
let owner: Owner;

beforeAll(async () => {
  if (!isDistributed) return;
  const first = await startService();
  const { databaseUrl } = first;
  if (databaseUrl === undefined) throw new Error("nodes that share nothing prove nothing");
  nodes.push(first, ...(await Promise.all([startService({ databaseUrl }), startService({ databaseUrl })])));
  owner = await signUp(first.baseUrl);
});

afterAll(async () => {
  for (const node of nodes.reverse()) await node[Symbol.asyncDispose]();
});

function nodeAt(index: number): Service {
  const node = nodes[index % nodes.length];
  if (node === undefined) throw new Error("there is no node");
  return node;
}

async function statusOf(node: Service, key: string): Promise<number> {
  const response = await fetch(`${node.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}

/**
 * Clients of one key at all nodes; the key is revoked under them. The statuses of the requests that began after the
 * revocation had been answered.
 */
async function revokeUnderLoad(round: number, disturb: () => Promise<void>): Promise<number[]> {
  const { key, id } = await owner.trpc.keys.create.mutate({ name: `round ${round} ${crypto.randomUUID()}` });
  let revoked = false;
  let stopped = false;
  let served = 0;
  const after: number[] = [];
  const client = async (index: number) => {
    while (!stopped) {
      const beganAfter = revoked;
      const status = await statusOf(nodeAt(index), key);
      if (status === 200) served++;
      if (beganAfter) after.push(status);
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, index) => client(index));
  await expect.poll(() => served, { interval: 2 }).toBeGreaterThan(CLIENTS);
  await disturb();
  await owner.trpc.keys.revoke.mutate({ id });
  revoked = true;
  await disturb();
  await expect.poll(() => after.length, { interval: 2 }).toBeGreaterThan(2 * CLIENTS);
  stopped = true;
  await Promise.all(clients);
  return after;
}

describe.skipIf(!isDistributed)("a key that was revoked at one node", () => {
  it("is refused by every node from then on", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const after = await revokeUnderLoad(round, async () => {});
      expect(new Set(after)).toEqual(new Set([401]));
    }
  });

  it("is refused also when Redis loses everything before and after", async () => {
    const redis = new Redis(REDIS_URL ?? "");
    for (let round = 0; round < ROUNDS; round++) {
      const after = await revokeUnderLoad(round, async () => {
        await redis.flushall();
      });
      expect(after.filter((status) => status !== 401 && status !== 503)).toEqual([]);
    }
    redis.disconnect();
  });

  it("is refused also when the nodes lose their connections to Redis", async () => {
    const redis = new Redis(REDIS_URL ?? "");
    for (let round = 0; round < ROUNDS; round++) {
      const after = await revokeUnderLoad(round, async () => {
        await redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        await expect
          .poll(() => Promise.all(nodes.map(ready)), { interval: 5 })
          .toEqual(nodes.map(() => true));
      });
      expect(after.filter((status) => status !== 401 && status !== 503)).toEqual([]);
    }
    redis.disconnect();
  });
});

async function ready(node: Service): Promise<boolean> {
  return (await fetch(`${node.baseUrl}/readyz`)).ok;
}

describe.skipIf(!isDistributed)("nodes that share a database and a Redis", () => {
  it("each know what another one has just created and recorded", async () => {
    const { key } = await owner.trpc.keys.create.mutate({ name: "shared" });
    for (const node of nodes) expect(await statusOf(node, key)).toBe(200);
  });
});
