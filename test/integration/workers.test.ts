import { access, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { Agent as HttpAgent, request } from "node:http";
import { request as requestSecurely } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { describe, expect, it } from "vitest";
import { Authority, type Certificate, hasOpenSsl } from "../fixtures/certificate.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { freePort } from "../fixtures/free-port.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { statusOf } from "../fixtures/request.ts";
import { logLines, runToExit, type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";
import { workersOf } from "../fixtures/workers.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const RESTART = { timeout: 30_000, interval: 100 };
/** A worker that stands still is killed after half a minute. */
const STANDSTILL = { timeout: 90_000, interval: 500 };

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
        agent: new HttpAgent({ keepAlive: false }),
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

interface SecureAnswer extends Answer {
  /** Of the certificate that the connection has. */
  readonly fingerprint: string;
  readonly body: string;
}

/** A request by HTTPS on a connection of its own. */
function secureRequest(
  service: Service,
  path: string,
  options: { readonly ca: string; readonly key?: string; readonly json?: object },
): Promise<SecureAnswer> {
  const { ca, key, json } = options;
  return new Promise((resolve, reject) => {
    const sent = requestSecurely(
      service.baseUrl + path,
      {
        ca,
        agent: false,
        method: json === undefined ? "GET" : "POST",
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(json === undefined ? {} : { "content-type": "application/json" }),
        },
      },
      async (response) => {
        const { fingerprint256 = "none" } = (response.socket as TLSSocket).getPeerX509Certificate() ?? {};
        const requestId = String(response.headers["x-request-id"]);
        const body = await text(response);
        resolve({ status: response.statusCode ?? 0, requestId, fingerprint: fingerprint256, body });
      },
    );
    sent.setTimeout(30_000, () => sent.destroy(new Error("no answer in 30 seconds")));
    sent.on("error", reject).end(json === undefined ? undefined : JSON.stringify(json));
  });
}

function secureChats(
  service: Service,
  key: string,
  ca: string,
  count: number,
): Promise<readonly SecureAnswer[]> {
  const json = { model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] };
  const chats = Array.from({ length: count }, () =>
    secureRequest(service, "/v1/chat/completions", { ca, key, json }),
  );
  return Promise.all(chats);
}

/** Signs up at a service whose certificate an authority of the test has signed. */
async function signUpOver(service: Service, ca: string): Promise<Owner & { readonly key: string }> {
  const before = getGlobalDispatcher();
  const dispatcher = new Agent({ connect: { ca } });
  setGlobalDispatcher(dispatcher);
  try {
    return await signUpWithKey(service.baseUrl);
  } finally {
    setGlobalDispatcher(before);
    await dispatcher.close();
  }
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
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    expect(metrics).toMatch(/^ostiary_build_info\{.+\} 1$/m);
    expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
  });

  it.skipIf(!hasOpenSsl)(
    "renews the certificate in every worker, adds metrics up on their own port, and logs each request once",
    {
      timeout: 60_000,
    },
    async () => {
      using authority = new Authority();
      const folder = await mkdtemp(join(tmpdir(), "ostiary-workers-"));
      const files = { TLS_CERT_FILE: join(folder, "tls.crt"), TLS_KEY_FILE: join(folder, "tls.key") };
      const write = async ({ cert, key }: Certificate) => {
        await writeFile(files.TLS_CERT_FILE, cert);
        await writeFile(files.TLS_KEY_FILE, key);
      };
      const [first, second] = [authority.sign(), authority.sign()];
      await write(first);
      const metricsPort = await freePort();
      const env = {
        ...files,
        OSTIARY_METRICS_PORT: String(metricsPort),
        OSTIARY_ACCESS_LOG: "1",
        OSTIARY_LOG: "info",
      };
      await using service = await startWorkers(2, {}, env);
      const { key } = await signUpOver(service, authority.pem);
      const pids = [...(await workersOf(service.pid)).values()].toSorted();
      const lines = (msg: string) => logLines(service.stderr()).filter((line) => line.msg === msg);

      /** Chats until both workers have answered some, and which certificates these had. */
      const answered: SecureAnswer[] = [];
      const chatWithBoth = async () => {
        const answers: SecureAnswer[] = [];
        const answering = () => {
          const ids = new Set(answers.map(({ requestId }) => requestId));
          const logged = lines("request").filter(({ requestId }) => ids.has(String(requestId)));
          return [...new Set(logged.map(({ pid }) => Number(pid)))].toSorted();
        };
        const round = async () => {
          answers.push(...(await secureChats(service, key, authority.pem, 20)));
          return answering();
        };
        await expect.poll(round, RESTART).toEqual(pids);
        answered.push(...answers);
        return [...new Set(answers.map(({ fingerprint }) => fingerprint))];
      };
      expect(await chatWithBoth()).toEqual([first.fingerprint]);

      await write(second);
      process.kill(service.pid, "SIGHUP");
      const renewed = () => lines("reloaded the TLS certificate").map(({ pid }) => Number(pid));
      await expect.poll(() => renewed().toSorted(), RESTART).toEqual(pids);
      expect(await chatWithBoth()).toEqual([second.fingerprint]);

      expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
      const ids = answered.map(({ requestId }) => requestId).toSorted();
      const logged = () => lines("request").filter(({ path }) => path === "/v1/chat/completions");
      await expect
        .poll(() =>
          logged()
            .map(({ requestId }) => String(requestId))
            .toSorted(),
        )
        .toEqual(ids);
      const total = 'ostiary_request_duration_seconds_count{endpoint="POST /v1/chat/completions"}';
      // Whichever worker is asked.
      for (let time = 0; time < 6; time++) {
        await expect.poll(() => metricOf(`http://127.0.0.1:${metricsPort}`, total)).toBe(ids.length);
      }
      const onApi = await secureRequest(service, "/metrics", { ca: authority.pem });
      expect(onApi.status).toBe(404);
      expect(await service.stop()).toBe(0);
      await rm(folder, { recursive: true, force: true });
    },
  );

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

  it("starts a worker again that was told to stop alone", async () => {
    await using service = await startWorkers(2);
    const { key } = await signUpWithKey(service.baseUrl);
    const before = await workersOf(service.pid);
    process.kill(before.get(2) ?? 0, "SIGTERM");
    const second = async () => (await workersOf(service.pid)).get(2) ?? before.get(2);
    await expect.poll(second, RESTART).not.toBe(before.get(2));
    expect((await workersOf(service.pid)).get(1)).toBe(before.get(1));
    expect(await statusOf(service.baseUrl, key)).toBe(200);
  });

  it("starts a worker again that stands still, and goes on with the other meanwhile", async () => {
    await using service = await startWorkers(2);
    const { key } = await signUpWithKey(service.baseUrl);
    const before = await workersOf(service.pid);
    const running = chats(service, key, 8, "sandbox:delay 20000");
    await untilBegun(service, 8);
    process.kill(before.get(2) ?? 0, "SIGSTOP");
    const second = async () => (await workersOf(service.pid)).get(2) ?? before.get(2);
    await expect.poll(second, STANDSTILL).not.toBe(before.get(2));
    expect((await workersOf(service.pid)).get(1)).toBe(before.get(1));
    expect(service.stderr()).toContain("a worker stands still");
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    // Those of the worker that stood still have lost their connection, and do not wait for ever.
    const statuses = (await running).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([0, 200]));
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

  it("goes on after SIGHUP, also without a file that is read again", async () => {
    await using two = await startWorkers(2);
    const { key } = await signUpWithKey(two.baseUrl);
    const before = await workersOf(two.pid);
    process.kill(two.pid, "SIGHUP");
    for (let number = 0; number < 50; number++) expect(await statusOf(two.baseUrl, key)).toBe(200);
    expect(await workersOf(two.pid)).toEqual(before);
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
    expect(stderr.match(/OSTIARY_WORKERS: /g)).toHaveLength(1);
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
