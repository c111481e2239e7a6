import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import {
  type AttemptCounters,
  memoryCounter,
  memoryCounters,
} from "../../server/src/accounts/attempt-counters.ts";
import { AttemptLimits, type AttemptRule } from "../../server/src/accounts/attempts.ts";
import { redisCounters } from "../../server/src/accounts/redis-attempt-counters.ts";
import { openFaultProxy } from "../fixtures/fault-proxy.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;
const DAY_MS = 24 * 60 * 60 * 1_000;
const MONTH: AttemptRule = { keyPrefix: "month", points: 1, durationS: 30 * 24 * 60 * 60 };

function shared(url: string, prefix: string): AttemptCounters {
  return redisCounters({ url, prefix, commandTimeoutMs: 2_000, onError: () => {} });
}

const implementations: Record<string, () => Promise<AttemptCounters>> = {
  memory: async () => memoryCounters(),
  ...(REDIS_URL === undefined
    ? {}
    : {
        Redis: async () => {
          const prefix = `test-${crypto.randomUUID()}`;
          const counters = shared(REDIS_URL, prefix);
          const probe = counters.counter({ keyPrefix: "probe", points: 1, durationS: 60 });
          const redis = new Redis(REDIS_URL);
          // Until it is connected they count in memory.
          await expect
            .poll(async () => {
              await probe.count("a");
              return redis.exists(`${prefix}:probe:a`);
            })
            .toBe(1);
          redis.disconnect();
          return counters;
        },
      }),
  // The discard port: nothing listens there.
  "memory while Redis is away": async () => shared("redis://127.0.0.1:9", "test"),
};

describe.each(Object.entries(implementations))("attempts counted in %s", (_, open) => {
  it("are refused over the limit, separately for each name, with the time to wait", async () => {
    const counters = await open();
    const counter = counters.counter({ keyPrefix: "a", points: 2, durationS: 60 });
    expect(await counter.count("a")).toBe(0);
    expect(await counter.count("a")).toBe(0);
    const waitMs = await counter.count("a");
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(60_000);
    expect(await counter.count("b")).toBe(0);
    await counters.close();
  });

  it("can be taken back and reset", async () => {
    const counters = await open();
    const counter = counters.counter({ keyPrefix: "a", points: 1, durationS: 60 });
    expect(await counter.count("a")).toBe(0);
    await counter.uncount("a");
    expect(await counter.count("a")).toBe(0);
    expect(await counter.count("a")).toBeGreaterThan(0);
    await counter.forget("a");
    expect(await counter.has("a")).toBe(false);
    expect(await counter.count("a")).toBe(0);
    await counters.close();
  });

  it("are remembered for a month, which exceeds the longest timer", async () => {
    const counters = await open();
    const counter = counters.counter(MONTH);
    expect(await counter.has("home")).toBe(false);
    await counter.remember("home");
    expect(await counter.has("home")).toBe(true);
    expect(await counter.count("home")).toBeGreaterThan(29 * DAY_MS);
    await counters.close();
  });
});

describe.skipIf(REDIS_URL === undefined)("attempts that Redis has counted without an answer", () => {
  it("are taken back on the node, too, which has counted them", async () => {
    const url = new URL(REDIS_URL ?? "");
    const redis = new Redis(url.href);
    await using proxy = await openFaultProxy(Number(url.port));
    url.port = String(proxy.port);
    const prefix = `test-${crypto.randomUUID()}`;
    const counters = shared(url.href, prefix);
    const probe = counters.counter({ keyPrefix: "probe", points: 100, durationS: 60 });
    const untilConnected = async (name: string) => {
      const isCounted = async () => {
        await probe.count(name);
        return redis.exists(`${prefix}:probe:${name}`);
      };
      await expect.poll(isCounted, { timeout: 30_000 }).toBe(1);
    };
    const counter = counters.counter({ keyPrefix: "a", points: 2, durationS: 600 });
    for (let round = 0; round < 4; round++) {
      await untilConnected(`before ${round}`);
      const answers = proxy.loseAnswers(1);
      expect(await counter.count("a"), `attempt ${round}`).toBe(0);
      expect(answers.lost).toBe(1);
      await untilConnected(`after ${round}`);
      await counter.uncount("a");
    }
    await counters.close();
    redis.disconnect();
  });
});

describe.skipIf(REDIS_URL === undefined)("attempts at a node that loses Redis", () => {
  it("go on from those that it has counted itself", async () => {
    const url = new URL(REDIS_URL ?? "");
    await using way = await openTcpProxy(Number(url.port));
    url.port = String(way.port);
    const prefix = `test-${crypto.randomUUID()}`;
    const counters = shared(url.href, prefix);
    const counter = counters.counter({ keyPrefix: "a", points: 3, durationS: 600 });
    const redis = new Redis(REDIS_URL ?? "");
    const isShared = async (name: string) => {
      await counter.count(name);
      return redis.exists(`${prefix}:a:${name}`);
    };
    await expect.poll(() => isShared("connected"), { timeout: 30_000 }).toBe(1);
    expect(await counter.count("a")).toBe(0);
    expect(await counter.count("a")).toBe(0);
    way.cut();
    expect(await counter.count("a")).toBe(0);
    expect(await counter.count("a")).toBeGreaterThan(0);
    await counters.close();
    redis.disconnect();
  });
});

describe("attempts counted in memory", () => {
  it("expire after the rule's time", async () => {
    let nowMs = 7_000;
    const counter = memoryCounter(MONTH, { nowMs: () => nowMs });
    await counter.remember("home");
    nowMs += 29 * DAY_MS;
    expect(await counter.count("home")).toBe(DAY_MS);
    nowMs += DAY_MS;
    expect(await counter.has("home")).toBe(false);
    expect(await counter.count("home")).toBe(0);
  });

  it("are forgotten for the least recently used names when there are too many", async () => {
    const counter = memoryCounter({ keyPrefix: "a", points: 1, durationS: 60 }, { maxNames: 100 });
    await counter.count("often");
    for (let number = 0; number < 500; number++) {
      await counter.count(`stranger ${number}`);
      await counter.count("often");
    }
    expect(await counter.has("stranger 0")).toBe(false);
    expect(await counter.has("stranger 499")).toBe(true);
    expect(await counter.count("often")).toBeGreaterThan(0);
  });
});

describe("the limits on attempts to sign in", () => {
  it("give a guesser no more attempts for what the user does in a familiar network", async () => {
    const limits = new AttemptLimits(memoryCounters().counter);
    const email = "ann@example.com";
    let guesses = 0;
    for (let number = 0; number < 130; number++) {
      await limits.countSignIn(email, "192.0.2.1");
      await limits.resetAttempts(email, "192.0.2.1");
      // The database does not answer.
      await limits.countSignIn(email, "192.0.2.1");
      await limits.uncountSignIn(email, "192.0.2.1");
      await limits.countSignIn(email, `198.51.100.${number}`).then(
        () => guesses++,
        () => {},
      );
    }
    expect(guesses).toBe(100);
  });

  it("let any number of users in who share an address and know their passwords", async () => {
    const limits = new AttemptLimits(memoryCounters().counter);
    for (let number = 0; number < 150; number++) {
      await limits.countSignIn(`${number}@example.com`, "192.0.2.1");
      await limits.resetAttempts(`${number}@example.com`, "192.0.2.1");
    }
  });
});
