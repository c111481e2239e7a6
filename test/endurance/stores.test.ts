import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { startOperatedService } from "../fixtures/operator.ts";
import { startRedis } from "../fixtures/redis.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { expectNothingLost, isDistributed, Load, signUpFunded, startPricedModel } from "./load.ts";

const ROUNDS = 5;

async function answersMore(load: Load, count: number): Promise<void> {
  const target = load.seen.size + count;
  await expect.poll(() => load.seen.size, { interval: 5, timeout: 60_000 }).toBeGreaterThanOrEqual(target);
}

async function killDatabase(dataDir: string): Promise<"killed" | "not there"> {
  const pidFile = await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8").catch(() => "");
  const [pid, , , , , , , state] = pidFile.split("\n");
  if (state?.trim() !== "ready") return "not there";
  try {
    process.kill(Number(pid), "SIGKILL");
    return "killed";
  } catch {
    return "not there";
  }
}

describe.skipIf(isDistributed)("the bundled database, killed under load", () => {
  it("comes back, and nothing is lost or charged twice", { timeout: 300_000 }, async () => {
    await using model = await startPricedModel();
    await using service = await startOperatedService({ env: model.env });
    const owner = await signUpFunded(service);
    const load = new Load(owner.key);
    load.start(8, () => service.baseUrl);
    for (let round = 0; round < ROUNDS; round++) {
      await answersMore(load, 30);
      // It may still be coming back from the round before, while requests are answered without it.
      await expect.poll(() => killDatabase(service.dataDir)).toBe("killed");
    }
    await answersMore(load, 30);
    await load.stop();
    await expectNothingLost(service, owner, load.seen);
    // A client that has its answer has not been told of the database's troubles; new credit may have had to wait for it.
    expect([...load.refused.keys()].filter((status) => status !== 503)).toEqual([]);
  });
});

describe.runIf(isDistributed)("with two nodes under load", () => {
  const troubles: Record<string, { redis: boolean; database: boolean }> = {
    "Redis is emptied": { redis: true, database: false },
    "the database breaks all connections and is away for a while": { redis: false, database: true },
    "both happen": { redis: true, database: true },
  };
  for (const [what, trouble] of Object.entries(troubles)) {
    it(`nothing is lost or charged twice when ${what}`, { timeout: 300_000 }, async () => {
      await using redis = await startRedis();
      await using model = await startPricedModel();
      const base = { ...model.env, REDIS_URL: redis.url };
      await using first = await startOperatedService({ env: base });
      const url = new URL(first.databaseUrl ?? "");
      await using way = await openTcpProxy(Number(url.port));
      url.port = String(way.port);
      await using second = await startService({ env: base, databaseUrl: url.href });
      const owner = await signUpFunded(first);
      const load = new Load(owner.key);
      const nodes: readonly Service[] = [first, second];
      for (const node of nodes) load.start(6, () => node.baseUrl);
      for (let round = 0; round < ROUNDS; round++) {
        await answersMore(load, 40);
        if (trouble.database) way.cut();
        if (trouble.redis) await redis.restart("empty");
        await answersMore(load, 20);
        way.heal();
      }
      await answersMore(load, 40);
      await load.stop();
      await second.stop();
      await expectNothingLost(first, owner, load.seen);
      expect([...load.refused.keys()].filter((status) => status !== 503)).toEqual([]);
    });
  }
});

describe.runIf(isDistributed)("a limit of 100 requests a minute, on four nodes", () => {
  it("admits 100 of 1,000 concurrent requests", { timeout: 300_000 }, async () => {
    await using redis = await startRedis();
    const limits = { requestsPerMinute: 100, tokensPerMinute: null, concurrentRequests: null };
    const env = { REDIS_URL: redis.url, OSTIARY_PLANS: JSON.stringify({ enterprise: limits }) };
    await using first = await startOperatedService({ env });
    const { databaseUrl } = first;
    if (databaseUrl === undefined) throw new Error("nodes that share nothing prove nothing");
    await using second = await startService({ env, databaseUrl });
    await using third = await startService({ env, databaseUrl });
    await using fourth = await startService({ env, databaseUrl });
    const { key } = await signUpFunded(first);
    const nodes: readonly Service[] = [first, second, third, fourth];
    const statuses = await Promise.all(
      Array.from({ length: 1_000 }, async (_, index) => {
        for (;;) {
          const response = await sendChat(nodes[index % 4]?.baseUrl ?? "", key);
          await response.arrayBuffer();
          // Where the machine has other work, 250 requests at once are an overload, and clients send again what was refused for that.
          if (response.status !== 503) return response.status;
          await setTimeout(Number(response.headers.get("retry-after")) * 1_000);
        }
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses.filter((status) => status === 429)).toHaveLength(900);
  });
});
