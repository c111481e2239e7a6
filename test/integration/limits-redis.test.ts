import { describe, expect, it } from "vitest";
import { startOperatedService } from "../fixtures/operator.ts";
import { startRedis } from "../fixtures/redis.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const hasRedis = process.env.OSTIARY_TEST_REDIS_URL !== undefined;
const isDistributed = hasRedis && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const LIMITS = { requestsPerMinute: 100, tokensPerMinute: 10_000, concurrentRequests: 2 };

function settings(redisUrl: string, limits: object = LIMITS) {
  return { REDIS_URL: redisUrl, OSTIARY_LOG: "silent", OSTIARY_PLANS: JSON.stringify({ free: limits }) };
}

function chat(service: Service, key: string, content: string, signal?: AbortSignal): Promise<Response> {
  return sendChat(
    service.baseUrl,
    key,
    { messages: [{ role: "user", content }], stream: true, max_tokens: 500 },
    { signal },
  );
}

async function statusOfChat(service: Service, key: string, content = "hi"): Promise<number> {
  const response = await chat(service, key, content);
  await response.text();
  return response.status;
}

describe.skipIf(!hasRedis)("when answers of Redis are lost, an account", () => {
  it("gets back what its unserved requests took", async () => {
    await using redis = await startRedis();
    await using way = await openTcpProxy(redis.port);
    await using service = await startService({ env: settings(`redis://127.0.0.1:${way.port}`) });
    const { key, trpc } = await signUpWithKey(service.baseUrl);
    expect(await statusOfChat(service, key)).toBe(200);
    const used = (await trpc.account.limits.query()).used;
    expect(used).toMatchObject({ requests: 1, concurrent: 0 });

    way.loseAnswers();
    const statuses = await Promise.all([1, 2].map(() => statusOfChat(service, key)));
    expect(statuses).toEqual([503, 503]);
    // They were admitted, though the service can't know.
    expect(await redis.command("--scan", "--pattern", "*:places")).not.toBe("");
    way.heal();
    // Not only when the lease of its concurrency slots has run out, which takes a minute.
    await expect.poll(() => statusOfChat(service, key), { timeout: 20_000 }).toBe(200);
    await expect
      .poll(async () => (await trpc.account.limits.query()).used)
      .toEqual({ requests: 2, tokens: 2 * used.tokens, concurrent: 0 });
  });

  it("gets back the concurrency slots of requests that ended meanwhile", async () => {
    await using redis = await startRedis();
    await using way = await openTcpProxy(redis.port);
    await using service = await startService({ env: settings(`redis://127.0.0.1:${way.port}`) });
    const { key, trpc } = await signUpWithKey(service.baseUrl);
    const abort = new AbortController();
    const slow = [1, 2].map(() => chat(service, key, "sandbox:delay 20000", abort.signal).catch(() => null));
    await expect
      .poll(async () => (await trpc.account.limits.query()).used, { interval: 20 })
      .toMatchObject({ concurrent: 2 });
    way.cut();
    abort.abort();
    await Promise.all(slow);
    await expect.poll(async () => (await fetch(`${service.baseUrl}/readyz`)).status).toBe(503);
    way.heal();
    await expect.poll(() => statusOfChat(service, key), { timeout: 20_000 }).toBe(200);
    await expect.poll(async () => (await trpc.account.limits.query()).used).toMatchObject({ concurrent: 0 });
  });
});

describe.skipIf(!hasRedis)("a limit on concurrent requests", () => {
  const refusal = async (service: Service, key: string) => {
    const response = await chat(service, key, "hi");
    const text = await response.text();
    return response.status === 200 ? "admitted" : (JSON.parse(text).error.code as string);
  };

  it.each(["restarted empty", "emptied"])(
    "holds for requests that continue while Redis is %s",
    { timeout: 300_000 },
    async (what) => {
      await using redis = await startRedis();
      const env = settings(redis.url, { ...LIMITS, requestsPerMinute: null, tokensPerMinute: null });
      await using service = await startService({ env });
      const { key, trpc } = await signUpWithKey(service.baseUrl);
      const abort = new AbortController();
      const slow = [1, 2].map(() =>
        chat(service, key, "sandbox:delay 25000", abort.signal).catch(() => null),
      );
      const used = async () => (await trpc.account.limits.query()).used;
      await expect.poll(used, { interval: 20 }).toMatchObject({ concurrent: 2 });
      if (what === "emptied") await redis.command("flushall");
      else await redis.restart("empty");
      // Emptied without a word, it is found so within a second; whatever came in between was admitted.
      await expect.poll(() => refusal(service, key)).toBe("too_many_concurrent_requests");
      for (let number = 0; number < 10; number++) {
        expect(await refusal(service, key)).toBe("too_many_concurrent_requests");
      }
      expect(await used()).toMatchObject({ concurrent: 2 });
      abort.abort();
      await Promise.all(slow);
      await expect.poll(() => refusal(service, key)).toBe("admitted");
      await expect.poll(used).toMatchObject({ concurrent: 0 });
    },
  );
});

describe.skipIf(!isDistributed)("a limit of a minute", () => {
  it.each(["restarted empty", "emptied"])(
    "includes what all nodes admitted before Redis was %s",
    { timeout: 300_000 },
    async (what) => {
      await using redis = await startRedis();
      const env = settings(redis.url, { ...LIMITS, requestsPerMinute: 8 });
      await using first = await startService({ env });
      await using second = await startService({ databaseUrl: first.databaseUrl ?? "", env });
      const { key, trpc } = await signUpWithKey(first.baseUrl);
      const used = async () => (await trpc.account.limits.query()).used;
      for (const node of [first, second, first, second, second]) {
        expect(await statusOfChat(node, key)).toBe(200);
      }
      await expect.poll(used).toMatchObject({ requests: 5, concurrent: 0 });
      const before = await used();
      if (what === "emptied") await redis.command("flushall");
      else await redis.restart("empty");
      // Neither node is asked for anything that would tell it.
      await expect.poll(() => used().catch(() => null)).toEqual(before);
      const statuses: number[] = [];
      for (const node of [first, second, first, second]) statuses.push(await statusOfChat(node, key));
      expect(statuses).toEqual([200, 200, 200, 429]);
    },
  );
});

describe.skipIf(!hasRedis)("a Redis that may evict what it holds", () => {
  it("is reported with what to do about it, and measured", async () => {
    await using redis = await startRedis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");
    await using service = await startOperatedService({
      env: { REDIS_URL: redis.url, OSTIARY_LOG: "error" },
    });
    expect(service.stderr()).toContain("maxmemory-policy");
    expect(service.stderr()).toContain("noeviction");
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    expect(metrics).toContain("\nostiary_redis_may_evict 1\n");
  });

  it("is not reported when Redis has no memory limit or refuses to evict", async () => {
    for (const policy of [[], ["--maxmemory", "100mb", "--maxmemory-policy", "noeviction"]]) {
      await using redis = await startRedis(...policy);
      await using service = await startOperatedService({
        env: { REDIS_URL: redis.url, OSTIARY_LOG: "info" },
      });
      expect(service.stderr()).not.toContain("maxmemory-policy");
      const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
      expect(metrics).toContain("\nostiary_redis_may_evict 0\n");
    }
  });
});
