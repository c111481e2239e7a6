import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Authority, hasOpenSsl } from "../fixtures/certificate.ts";
import { hasRedisTls, type RedisTls } from "../fixtures/redis.ts";
import { startRedisCluster } from "../fixtures/redis-cluster.ts";
import { startWatchedRedis } from "../fixtures/redis-sentinel.ts";
import { statusOf } from "../fixtures/request.ts";
import { runToExit, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
const canRun = isDistributed && hasOpenSsl && hasRedisTls();

/** So many that each of three primaries has some: without one it is by a chance of 3 × (2/3)²⁴. */
const ACCOUNTS = 24;
const FAILOVER = { timeout: 30_000, interval: 100 };
const CANNOT_USE = /^Cannot use the Redis of REDIS_URL/;

let authority: Authority;
let stranger: Authority;
let folder: string;
let tls: RedisTls;

beforeAll(async () => {
  if (!canRun) return;
  authority = new Authority();
  stranger = new Authority();
  folder = await mkdtemp(join(tmpdir(), "ostiary-redis-tls-"));
  const { cert, key } = authority.sign();
  tls = {
    caFile: authority.file,
    certFile: join(folder, "redis.crt"),
    keyFile: join(folder, "redis.key"),
  };
  await writeFile(tls.certFile, cert);
  await writeFile(tls.keyFile, key);
});

afterAll(async () => {
  authority?.[Symbol.dispose]();
  stranger?.[Symbol.dispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** The settings of a service that trusts an authority. */
const settings = (redisUrl: string, trusted: Authority) => ({
  OSTIARY_LOG: "silent",
  REDIS_URL: redisUrl,
  REDIS_CA_FILE: trusted.file,
});

/** Why the service does not start. */
async function refusalOf(databaseUrl: string, env: Record<string, string | undefined>): Promise<string> {
  const { code, reasons } = await runToExit({ databaseUrl, env });
  expect(code).toBe(1);
  return reasons.join("\n");
}

describe.skipIf(!canRun)("a Redis Cluster that speaks TLS only", () => {
  it("serves every account on every node, and no service that does not trust it", {
    timeout: 90_000,
  }, async () => {
    await using cluster = await startRedisCluster({ tls });
    expect(cluster.url).toMatch(/^rediss\+cluster:/);
    const env = settings(cluster.url, authority);
    await using first = await startService({ env });
    const { databaseUrl = "" } = first;
    await using second = await startService({ databaseUrl, env });
    const owners = await Promise.all(Array.from({ length: ACCOUNTS }, () => signUpWithKey(first.baseUrl)));
    for (const node of [first, second]) {
      for (const { key } of owners) expect(await statusOf(node.baseUrl, key)).toBe(200);
    }
    for (const primary of cluster.primaries) {
      expect(await primary.command("--scan", "--pattern", "*{*-*-*-*-*}")).not.toBe("");
    }
    for (const { trpc, id, key } of owners) {
      await trpc.keys.revoke.mutate({ id });
      for (const node of [first, second]) expect(await statusOf(node.baseUrl, key)).toBe(401);
    }

    expect(await refusalOf(databaseUrl, settings(cluster.url, stranger))).toMatch(CANNOT_USE);
    const plain = { OSTIARY_LOG: "silent", REDIS_URL: cluster.url.replace("rediss", "redis") };
    const refusal = await refusalOf(databaseUrl, plain);
    expect(refusal).toMatch(CANNOT_USE);
    expect(refusal).toContain("If the server speaks TLS, begin the URL with rediss");
  });
});

describe.skipIf(!canRun)("a Redis server without TLS", () => {
  it("serves no service whose URL asks for TLS, and says what to change", async () => {
    await using service = await startService();
    const { databaseUrl = "" } = service;
    const url = (process.env.OSTIARY_TEST_REDIS_URL ?? "").replace("redis:", "rediss:");
    expect(await refusalOf(databaseUrl, settings(url, authority))).toMatch(
      /^Cannot use the Redis .* If the server does not speak TLS, begin the URL with redis instead/,
    );
  });
});

describe.skipIf(!canRun)("sentinels and servers that speak TLS only", () => {
  it("are followed through a failover, and serve no service that does not trust them", {
    timeout: 90_000,
  }, async () => {
    await using redis = await startWatchedRedis(tls);
    expect(redis.url).toMatch(/^rediss\+sentinel:/);
    const replication = () => redis.replica.command("info", "replication");
    await expect.poll(replication, FAILOVER).toContain("master_link_status:up");
    await using service = await startService({ env: settings(redis.url, authority) });
    const { key } = await signUpWithKey(service.baseUrl);
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    const { databaseUrl = "" } = service;
    expect(await refusalOf(databaseUrl, settings(redis.url, stranger))).toMatch(
      /^Cannot use the Redis of REDIS_URL .*The sentinels are unreachable.* certificate/,
    );

    await redis.primary.kill();
    await expect.poll(replication, FAILOVER).toContain("role:master");
    await expect.poll(() => statusOf(service.baseUrl, key), FAILOVER).toBe(200);
  });
});
