import { describe, expect, it } from "vitest";
import { statusOf } from "../fixtures/request.ts";
import { runToExit, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const hasDatabaseServer = process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
const ALONE = { REDIS_URL: undefined, OSTIARY_LOG: "silent" };

describe.skipIf(!hasDatabaseServer)("a node without Redis that was killed and lost its data folder", () => {
  it("keeps its successor from starting, which reports for how long and what to do", async () => {
    await using killed = await startService({ env: ALONE });
    const { key } = await signUpWithKey(killed.baseUrl);
    await killed.kill();
    const databaseUrl = killed.databaseUrl ?? "";

    const refused = await runToExit({ databaseUrl, env: ALONE });
    expect(refused.code).toBe(1);
    const [line = "", ...others] = refused.reasons;
    expect(others).toEqual([]);
    // Which node, since when, for how long.
    expect(line).toContain(`data folder ${killed.dataDir}`);
    expect(line).toMatch(/last seen \d+ s ago/);
    expect(line).toMatch(/blocks other nodes for another 9 min \d+ s/);
    // What to do.
    expect(line).toContain("start on its data folder");
    expect(line).toContain("OSTIARY_TAKE_OVER=1");

    await using successor = await startService({ databaseUrl, env: { ...ALONE, OSTIARY_TAKE_OVER: "1" } });
    expect(await statusOf(successor.baseUrl, key)).toBe(200);
  });

  it("keeps a node with Redis from starting, with the same message", async () => {
    const redisUrl = process.env.OSTIARY_TEST_REDIS_URL;
    if (redisUrl === undefined) return;
    await using killed = await startService({ env: ALONE });
    await killed.kill();
    const { code, stderr } = await runToExit({
      databaseUrl: killed.databaseUrl ?? "",
      env: { OSTIARY_LOG: "silent" },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("A node without REDIS_URL uses the database");
    expect(stderr).toMatch(/blocks other nodes for another 9 min \d+ s/);
    expect(stderr).toContain("OSTIARY_TAKE_OVER=1");
  });
});
