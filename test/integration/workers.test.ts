import { access, readdir, readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { statusOf } from "../fixtures/request.ts";
import { logLines, runToExit, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { workersOf } from "../fixtures/workers.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const RESTART = { timeout: 30_000, interval: 100 };

function startWorkers(count: number, more: Partial<Service> = {}, env: object = {}): Promise<Service> {
  return startService({
    ...(more.dataDir === undefined ? {} : { dataDir: more.dataDir }),
    ...(more.databaseUrl === undefined ? {} : { databaseUrl: more.databaseUrl }),
    env: { OSTIARY_WORKERS: count === 1 ? undefined : String(count), ...env },
  });
}

interface Answer {
  /** 0: none came. */
  readonly status: number;
  readonly requestId: string;
}

/** A chat on a connection of its own, so that any worker may answer it. */
function chat(service: Service, key: string, content: string): Promise<Answer> {
  const body = JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content }] });
  return new Promise((resolve) => {
    const none = () => resolve({ status: 0, requestId: "" });
    const sent = request(
      `${service.baseUrl}/v1/chat/completions`,
      {
        method: "POST",
        agent: new Agent({ keepAlive: false }),
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      },
      (response) => {
        response.on("error", none).resume();
        const answer = {
          status: response.statusCode ?? 0,
          requestId: String(response.headers["x-request-id"]),
        };
        response.on("end", () => resolve(answer));
      },
    );
    sent.setTimeout(30_000, () => sent.destroy());
    sent.on("error", none).end(body);
  });
}

async function chats(
  service: Service,
  key: string,
  count: number,
  content = "hi",
): Promise<readonly Answer[]> {
  return Promise.all(Array.from({ length: count }, () => chat(service, key, content)));
}

/** Resolves when this many chats are in the journals of a data folder. */
async function untilBegun({ dataDir }: Service, count: number): Promise<void> {
  const begun = async () => {
    const names = await readdir(dataDir, { recursive: true });
    const files = names.filter((name) => name.endsWith(".ndjson")).map((name) => join(dataDir, name));
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")));
    return texts.join("").match(/^begun .*chat/gm)?.length;
  };
  await expect.poll(begun, { interval: 20, timeout: 10_000 }).toBe(count);
}

/** The number of chats in the audit log, by how they ended. */
async function recorded(service: Service): Promise<Readonly<Record<string, number>>> {
  await using database = await openDatabaseOf(service);
  const rows = await database<{ reason: string; count: number }[]>`
    select end_reason as reason, count(*)::int as count from audit_entries
    where endpoint like '%/v1/chat/completions' group by end_reason`;
  return Object.fromEntries(rows.map(({ reason, count }) => [reason, count]));
}

describe.skipIf(!isDistributed)("a service of several workers", () => {
  it("is one service: ready once, a metric of all requests, an account that every worker knows", async () => {
    await using service = await startWorkers(2, {}, { OSTIARY_LOG: "info" });
    expect(logLines(service.stderr()).filter(({ msg }) => msg === "ready")).toHaveLength(1);
    const workers = await workersOf(service.pid);
    expect([...workers.keys()].sort()).toEqual([1, 2]);
    expect((await readdir(service.dataDir)).filter((name) => name.startsWith("worker-")).sort()).toEqual([
      "worker-1",
      "worker-2",
    ]);
    const { key } = await signUpWithKey(service.baseUrl);
    const answers = await chats(service, key, 40);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const name =
      'ostiary_requests_total{endpoint="POST /v1/chat/completions",model="sandbox/echo",status="200",end_reason="stop"}';
    // Whichever worker is asked.
    for (let time = 0; time < 4; time++) await expect.poll(() => metricOf(service.baseUrl, name)).toBe(40);
    expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
  });

  it("loses no entry when a worker is killed under load, and starts it again", {
    timeout: 90_000,
  }, async () => {
    await using service = await startWorkers(2);
    const { key } = await signUpWithKey(service.baseUrl);
    const name = "ostiary_recorder_failures_total";
    expect(await metricOf(service.baseUrl, name)).toBe(0);
    const before = await workersOf(service.pid);
    await chats(service, key, 20);
    const total = 'ostiary_request_duration_seconds_count{endpoint="POST /v1/chat/completions"}';
    await expect.poll(() => metricOf(service.baseUrl, total)).toBe(20);

    const answers: Answer[] = [];
    let isStopped = false;
    const clients = Array.from({ length: 4 }, async () => {
      while (!isStopped) answers.push(await chat(service, key, "hi"));
    });
    await expect.poll(() => answers.length, RESTART).toBeGreaterThan(40);
    process.kill(before.get(2) ?? 0, "SIGKILL");
    const restarted = async () => (await workersOf(service.pid)).get(2) ?? before.get(2);
    await expect.poll(restarted, RESTART).not.toBe(before.get(2));
    const atRestart = answers.length;
    await expect.poll(() => answers.length, RESTART).toBeGreaterThan(atRestart + 40);
    isStopped = true;
    await Promise.all(clients);

    // Those of the worker that was killed may have lost their connection; the service went on.
    const answered = 20 + answers.filter(({ status }) => status === 200).length;
    expect(answers.filter(({ status }) => status !== 200 && status !== 0)).toEqual([]);
    // What the worker had not recorded is in its journal, which its successor has read.
    await expect
      .poll(async () => (await recorded(service)).stop ?? 0, RESTART)
      .toBeGreaterThanOrEqual(answered);
    expect(service.stderr()).toContain("a worker has ended");
    // No sum has become smaller than what was read before.
    expect(await metricOf(service.baseUrl, total)).toBeGreaterThan(20);
    expect((await workersOf(service.pid)).get(1)).toBe(before.get(1));
  });

  it("lets the requests of all workers end when it is told to stop", async () => {
    await using service = await startWorkers(2);
    const { key } = await signUpWithKey(service.baseUrl);
    const running = chats(service, key, 8, "sandbox:delay 2000");
    await untilBegun(service, 8);
    expect(await service.stop()).toBe(0);
    expect((await running).map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await workersOf(service.pid)).size).toBe(0);
    expect((await recorded(service)).stop).toBe(8);
  });

  it("ends with its supervisor, and lets its requests end", async () => {
    await using service = await startWorkers(2);
    const { key } = await signUpWithKey(service.baseUrl);
    const workers = await workersOf(service.pid);
    const running = chats(service, key, 8, "sandbox:delay 2000");
    await untilBegun(service, 8);
    await service.kill();
    expect((await running).map(({ status }) => status)).toEqual(Array(8).fill(200));
    for (const pid of workers.values()) await expect.poll(() => isAlive(pid), RESTART).toBe(false);
  });

  it("records what workers left that are started no more, and what one process left before there were workers", {
    timeout: 120_000,
  }, async () => {
    await using three = await startWorkers(3);
    const { key } = await signUpWithKey(three.baseUrl);
    const lost = chats(three, key, 9, "sandbox:delay 20000");
    await untilBegun(three, 9);
    const workers = await workersOf(three.pid);
    const killed = three.kill();
    for (const pid of workers.values()) process.kill(pid, "SIGKILL");
    await killed;
    await lost;
    for (const pid of workers.values()) await expect.poll(() => isAlive(pid)).toBe(false);

    const { dataDir, databaseUrl } = three;
    const earlier = { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
    const one = await startWorkers(1, earlier);
    expect(await recorded(one)).toEqual({ node_lost: 9 });
    expect((await readdir(dataDir)).filter((name) => name.startsWith("worker-"))).toEqual([]);
    const alsoLost = chats(one, key, 2, "sandbox:delay 20000");
    await untilBegun(one, 2);
    await one.kill();
    await alsoLost;

    const two = await startWorkers(2, earlier);
    expect(await recorded(two)).toEqual({ node_lost: 11 });
    await expect(access(join(dataDir, "node-id"))).rejects.toThrow();
    expect(await statusOf(two.baseUrl, key)).toBe(200);
    expect(await two.stop()).toBe(0);
  });

  it("does not start when a worker can't, and says why", async () => {
    await using other = await startWorkers(1);
    const { databaseUrl = "" } = other;
    const { code, stdout, stderr } = await runToExit({
      databaseUrl,
      env: { OSTIARY_WORKERS: "2", PORT: new URL(other.baseUrl).port },
    });
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/Port \d+ of 127\.0\.0\.1 is in use/);
  });
});

describe("OSTIARY_WORKERS", () => {
  it.each([
    ["2", /OSTIARY_WORKERS: needs DATABASE_URL and REDIS_URL/],
    ["auto", /OSTIARY_WORKERS: needs DATABASE_URL and REDIS_URL/],
    ["0", /OSTIARY_WORKERS: must be auto, or a whole number/],
    ["many", /OSTIARY_WORKERS: must be auto, or a whole number/],
  ])("as %s is refused without stores that workers can share", async (count, reason) => {
    const { code, stderr } = await runToExit({
      env: { OSTIARY_WORKERS: count, REDIS_URL: undefined, DATABASE_URL: undefined },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(reason);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
