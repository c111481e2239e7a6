import { describe, expect, it } from "vitest";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { startRedis } from "../fixtures/redis.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import { logLines } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

describe.skipIf(!isDistributed)("a Redis that answers reads", () => {
  it("makes its node not ready while it refuses writes, and lets it revoke keys while its memory is full", async () => {
    await using redis = await startRedis();
    await using service = await startOperatedService({
      env: { REDIS_URL: redis.url, OSTIARY_LOG: "warn" },
    });
    const operator = await signInOperator(service.baseUrl);
    const owner = await signUpWithKey(service.baseUrl);
    const readiness = async () => {
      const response = await fetch(`${service.baseUrl}/readyz`);
      return { code: response.status, ...(await response.json()) };
    };
    const chat = async () => {
      const response = await sendChat(service.baseUrl, owner.key);
      await response.arrayBuffer();
      return response.status;
    };
    const ready = { code: 200, status: "ready" };
    const refuses = { code: 503, status: "not ready", reason: "Redis refuses to write" };

    const faults: readonly (readonly [fault: string[], end: string[]])[] = [
      // NOREPLICAS
      [
        ["config", "set", "min-replicas-to-write", "1"],
        ["config", "set", "min-replicas-to-write", "0"],
      ],
      // NOPERM
      [
        ["acl", "setuser", "default", "-zadd"],
        ["acl", "setuser", "default", "+zadd"],
      ],
    ];
    for (const [fault, end] of faults) {
      await redis.command(...fault);
      expect(await readiness()).toEqual(refuses);
      expect(await chat()).toBe(503);
      expect((await operator.trpc.operator.status.query()).redis).not.toBeNull();
      await redis.command(...end);
      await expect.poll(readiness).toEqual(ready);
      await expect.poll(chat).toBe(200);
    }

    const before = service.stderr().length;
    await redis.command("config", "set", "maxmemory", "1");
    expect(await readiness()).toEqual(ready);
    expect(await chat()).toBe(200);
    // The node finds out within a second that Redis has lost its data, and marks it again.
    await redis.command("flushall");
    await expect.poll(() => redis.command("dbsize").then(Number)).toBeGreaterThan(0);
    const [key] = (await owner.trpc.keys.list.query({})).keys;
    await owner.trpc.keys.revoke.mutate({ id: key?.id ?? "" });
    expect(await statusOf(service.baseUrl, owner.key)).toBe(401);
    const failed = logLines(service.stderr().slice(before)).filter(({ level }) => level === "error");
    expect(failed).toEqual([]);
  });
});
