import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { metricOf } from "../fixtures/metrics.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { startRedis } from "../fixtures/redis.ts";
import { logLines } from "../fixtures/service.ts";
import { signUp, signUpWithKey } from "../fixtures/user.ts";

describe("the status of a node", () => {
  it("has its version, schema, stores, records and breakers", async () => {
    await using service = await startOperatedService({ env: { REDIS_URL: undefined } });
    const { trpc } = await signInOperator(service.baseUrl);
    expect(await trpc.operator.status.query()).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      runtime: expect.stringMatching(/^(node|deno) \d/),
      startedAt: expect.any(Date),
      schema: { version: expect.stringMatching(/^\d{4}$/), newer: [] },
      database: { isUp: true, pingMs: expect.any(Number), maxConnections: 15, waitingStatements: 0 },
      redis: null,
      isFenced: false,
      settingDifferences: [],
      recorder: { failures: 0 },
      journal: { rejectedLines: 0 },
      unpublishedChanges: 0,
      clockSkewMs: expect.any(Number),
      certificateExpiresAt: null,
      breakers: [{ upstream: "sandbox", state: "closed", isCredentialRefused: false }],
    });
    // No other node runs with which its settings could be compared.
    expect(await trpc.operator.nodes.settings.query()).toMatchObject({
      nodes: [{ digests: { plans: expect.stringMatching(/^[0-9a-f]{12}$/) } }],
      differences: [],
    });
  });

  it("tells that Redis does not answer, and that it answers again, as the log does", async () => {
    await using redis = await startRedis();
    await using service = await startOperatedService({
      env: { REDIS_URL: redis.url, OSTIARY_LOG: "info" },
    });
    const { trpc } = await signInOperator(service.baseUrl);
    const { key } = await signUpWithKey(service.baseUrl);
    const isUp = async () => (await trpc.operator.status.query()).redis?.isUp;
    expect(await isUp()).toBe(true);
    await redis.kill();
    await expect.poll(isUp, { timeout: 30_000 }).toBe(false);
    expect((await trpc.operator.status.query()).redis).toMatchObject({
      problem: "does not answer",
      pingMs: null,
    });
    // An outage of Redis is not reported as a difference between the nodes as well.
    expect((await trpc.operator.status.query()).isFenced).toBe(false);
    expect(await metricOf(service.baseUrl, "ostiary_admission_fenced")).toBe(0);
    const readiness = await fetch(`${service.baseUrl}/readyz`);
    expect(await readiness.json()).toEqual({ status: "not ready", reason: "Redis does not answer" });
    const models = await fetch(`${service.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(models.status).toBe(503);
    await redis.start();
    await expect.poll(isUp, { timeout: 30_000 }).toBe(true);
    const told = logLines(service.stderr());
    const outage = told.filter(({ msg }) => /^Redis (?:does not answer|answers again)$/.test(msg ?? ""));
    expect(outage).toMatchObject([{ level: "error" }, { level: "info" }]);
    // An outage fails many requests: the log has no stack of each.
    const failed = told.filter(({ msg }) => msg === "a request failed");
    expect(failed).toMatchObject([
      {
        level: "warn",
        code: "server_is_overloaded",
        reason: expect.stringContaining("Redis"),
      },
    ]);
    expect(failed[0]).not.toHaveProperty("err");
    // Each of two connections tried to connect many times.
    const refusals = told.filter(({ msg }) => msg?.includes("ECONNREFUSED"));
    expect(refusals.length).toBeLessThanOrEqual(2);
  });

  it("counts rejected lines of the journal", async () => {
    await using former = await startOperatedService();
    await former.stop();
    await appendFile(join(former.dataDir, "journal/000000000700.ndjson"), "no entry\n");
    const { dataDir, databaseUrl } = former;
    await using service = await startOperatedService({
      dataDir,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
      env: { OSTIARY_LOG: "silent" },
    });
    const { trpc } = await signInOperator(service.baseUrl);
    expect((await trpc.operator.status.query()).journal.rejectedLines).toBe(1);
  });

  it("is for operators only", async () => {
    await using service = await startOperatedService();
    const owner = await signUp(service.baseUrl);
    await expect(owner.trpc.operator.status.query()).rejects.toMatchObject({ data: { httpStatus: 403 } });
  });
});
