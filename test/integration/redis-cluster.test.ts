import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RedisServer, startRedis } from "../fixtures/redis.ts";
import { type RedisCluster, startRedisCluster } from "../fixtures/redis-cluster.ts";
import { startWatchedRedis } from "../fixtures/redis-sentinel.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import { runToExit, type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const ACCOUNTS = 18;
const SILENT = { OSTIARY_LOG: "silent" };
/** A failover takes Redis a second to notice, and some to vote. */
const FAILOVER = { timeout: 30_000, interval: 100 };

type OwnerWithKey = Owner & { readonly key: string; readonly id: string };

async function startNodes(redisUrl: string, env: object = {}): Promise<readonly [Service, Service]> {
  const settings = { ...SILENT, REDIS_URL: redisUrl, ...env };
  const first = await startService({ env: settings });
  return [first, await startService({ databaseUrl: first.databaseUrl ?? "", env: settings })];
}

async function stopNodes(nodes: readonly Service[]): Promise<void> {
  // The first has the database.
  for (const node of nodes.toReversed()) await node[Symbol.asyncDispose]();
}

/** Repeats a change until it is answered: what is not in force yet says so. */
async function untilAnswered(change: () => Promise<unknown>): Promise<void> {
  const outcome = () =>
    change().then(
      () => "answered",
      (error) => error.data?.httpStatus,
    );
  await expect.poll(outcome, FAILOVER).toBe("answered");
}

async function statusOfChat(node: Service, key: string): Promise<number> {
  const response = await sendChat(node.baseUrl, key);
  await response.text();
  return response.status;
}

/** Keeps a primary's later writes from its replica, until the primary is killed and the replica takes its place. */
async function separate(primary: RedisServer, replica: RedisServer): Promise<void> {
  replica.pause();
  await primary.command("client", "kill", "type", "replica");
}

describe.skipIf(!isDistributed)("on a Redis Cluster of three primaries", () => {
  let cluster: RedisCluster;
  let nodes: readonly [Service, Service];
  let owners: readonly OwnerWithKey[];

  beforeAll(async () => {
    cluster = await startRedisCluster({ replicas: true });
    const plan = { requestsPerMinute: 5, tokensPerMinute: null, concurrentRequests: null };
    nodes = await startNodes(cluster.url, { OSTIARY_PLANS: JSON.stringify({ free: plan }) });
    const [, second] = nodes;
    owners = await Promise.all(Array.from({ length: ACCOUNTS }, () => signUpWithKey(second.baseUrl)));
  }, 60_000);

  afterAll(async () => {
    await stopNodes(nodes ?? []);
    await cluster?.[Symbol.asyncDispose]();
  });

  const statuses = (node: Service, of: readonly OwnerWithKey[] = owners) =>
    Promise.all(of.map(({ key }) => statusOf(node.baseUrl, key)));

  it("every node serves every account, and their keys are on all primaries", async () => {
    for (const node of nodes) expect(new Set(await statuses(node))).toEqual(new Set([200]));
    for (const primary of cluster.primaries) {
      expect(await primary.command("--scan", "--pattern", "*{*-*-*-*-*}")).not.toBe("");
    }
  });

  it("limits hold across nodes, and a revocation is in force on all nodes once it is answered", async () => {
    const [first, second] = nodes;
    const fresh = await Promise.all(Array.from({ length: 6 }, () => signUpWithKey(first.baseUrl)));
    for (const owner of fresh) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => statusOfChat(index % 2 === 0 ? first : second, owner.key)),
      );
      expect(answers.filter((status) => status === 200)).toHaveLength(5);
    }
    for (const owner of fresh) await owner.trpc.keys.revoke.mutate({ id: owner.id });
    for (const node of nodes) expect(new Set(await statuses(node, fresh))).toEqual(new Set([401]));
  });

  it("a revocation stays in force when a replica that has not heard of it takes its primary's place", {
    timeout: 120_000,
  }, async () => {
    const [first, second] = nodes;
    const [owner] = owners;
    if (owner === undefined) throw new Error("there is no account");
    const { id, key } = await owner.trpc.keys.create.mutate({ name: "to be revoked" });
    for (const node of nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);
    const { id: accountId } = await owner.trpc.account.get.query();
    const primary = await cluster.primaryOf(accountId);
    const replica = cluster.replicas[cluster.primaries.indexOf(primary)];
    if (replica === undefined) throw new Error("the primary has no replica");

    await separate(primary, replica);
    await owner.trpc.keys.revoke.mutate({ id });
    // So the replica can't have heard of it.
    expect(await primary.command("info", "replication")).toContain("connected_slaves:0");
    await primary.kill();
    replica.resume();
    // Wherever the account is, its other keys are served again.
    for (const node of nodes) await expect.poll(() => statusOf(node.baseUrl, owner.key), FAILOVER).toBe(200);
    expect((await cluster.primaryOf(accountId)).port).toBe(replica.port);
    for (const node of nodes) expect(await statusOf(node.baseUrl, key)).toBe(401);

    // Changes are in force at once on the new primary, for this account and for those of other primaries.
    for (const { trpc, key: other } of owners) {
      const created = await trpc.keys.create.mutate({ name: "after the failover" });
      expect(await statusOf(first.baseUrl, created.key)).toBe(200);
      await untilAnswered(() => trpc.keys.revoke.mutate({ id: created.id }));
      for (const node of nodes) expect(await statusOf(node.baseUrl, created.key)).toBe(401);
      expect(await statusOf(second.baseUrl, other)).toBe(200);
    }

    // The former primary returns as a replica, and nobody takes it for more.
    await primary.start();
    await expect.poll(() => primary.command("info", "replication"), FAILOVER).toContain("role:slave");
    for (const node of nodes) expect(await statusOf(node.baseUrl, owner.key)).toBe(200);
  });

  it("a REDIS_URL that can't be used ends the start with a reason that has no password", async () => {
    await using alone = await startRedis();
    const starts = [
      [cluster.replicas[0]?.url ?? "", /redis\+cluster:\/\/host/],
      [`redis+cluster://user:secret@127.0.0.1:${alone.port}`, /WRONGPASS/],
      [`redis+cluster://127.0.0.1:${alone.port}`, /cluster support disabled/],
      [
        "redis+cluster://user:secret@127.0.0.1:9,127.0.0.1:10",
        /127\.0\.0\.1:9, 127\.0\.0\.1:10.*ECONNREFUSED/,
      ],
      ["redis+sentinel://user:secret@127.0.0.1:9/name", /sentinels are unreachable/],
      ["redis+sentinel://user:secret@127.0.0.1:9", /must end with the name/],
      ["redis://user:secret@127.0.0.1:9,127.0.0.1:10", /redis\+cluster:/],
    ] as const;
    const [{ databaseUrl = "" }] = nodes;
    const exits = await Promise.all(
      starts.map(([REDIS_URL]) => runToExit({ databaseUrl, env: { ...SILENT, REDIS_URL } })),
    );
    for (const [index, { code, stderr }] of exits.entries()) {
      expect(code).toBe(1);
      expect(stderr).toMatch(starts[index]?.[1] ?? /never/);
      expect(stderr).not.toContain("secret");
    }
  });
});

describe.skipIf(!isDistributed)("with sentinels", () => {
  it("nodes follow the primary through a failover, and a revocation stays in force", {
    timeout: 120_000,
  }, async () => {
    await using redis = await startWatchedRedis();
    const replication = () => redis.replica.command("info", "replication");
    await expect.poll(replication, FAILOVER).toContain("master_link_status:up");
    const nodes = await startNodes(redis.url);
    try {
      const owner = await signUpWithKey(nodes[1].baseUrl);
      const { id, key } = await owner.trpc.keys.create.mutate({ name: "to be revoked" });
      for (const node of nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);
      await separate(redis.primary, redis.replica);
      await owner.trpc.keys.revoke.mutate({ id });
      expect(await redis.primary.command("info", "replication")).toContain("connected_slaves:0");
      await redis.primary.kill();
      redis.replica.resume();
      await expect.poll(replication, FAILOVER).toContain("role:master");
      for (const node of nodes)
        await expect.poll(() => statusOf(node.baseUrl, owner.key), FAILOVER).toBe(200);
      for (const node of nodes) expect(await statusOf(node.baseUrl, key)).toBe(401);
      const created = await owner.trpc.keys.create.mutate({ name: "after the failover" });
      expect(await statusOf(nodes[0].baseUrl, created.key)).toBe(200);
      await untilAnswered(() => owner.trpc.keys.revoke.mutate({ id: created.id }));
      for (const node of nodes) expect(await statusOf(node.baseUrl, created.key)).toBe(401);
    } finally {
      await stopNodes(nodes);
    }
  });
});
