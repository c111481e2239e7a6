import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, get } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { pino } from "pino";
import postgres from "postgres";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import { Shutdown } from "../../server/src/start/shutdown.ts";
import { Teardown } from "../../server/src/start/teardown.ts";
import { writeCatalog } from "../fixtures/catalog.ts";
import { freePort } from "../fixtures/free-port.ts";
import { chunkOf, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { OPERATOR_ENV, signInOperator } from "../fixtures/operator.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import { RUNTIME, runToExit, type Service, startService } from "../fixtures/service.ts";
import { stopAtOnce } from "../fixtures/stop-at-once.ts";
import { signUpWithKey, visit } from "../fixtures/user.ts";

async function readiness(
  baseUrl: string,
): Promise<{ readonly status: number; readonly reason: string | null }> {
  const response = await fetch(`${baseUrl}/readyz`);
  const { reason } = (await response.json()) as { reason?: string };
  return { status: response.status, reason: reason ?? null };
}

/** A model server that begins an answer, and completes it when a test says so. */
async function startHalfway() {
  let finish: () => void = () => {};
  const upstream = await startModelServer(({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    response.write(chunkOf({ role: "assistant", content: "half" }));
    finish = () => response.end(`${chunkOf({ content: " whole" }, "stop")}data: [DONE]\n\n`);
  });
  return Object.assign(upstream, { finish: () => finish() });
}

/** A service in front of a model server, whose answers are begun and ended as a test says. */
async function startBehind(upstream: ModelServer, env: Record<string, string>) {
  const catalog = await writeCatalog({
    upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl } },
    models: [{ id: "acme/chat", routes: [{ upstream: "main", model: "inner" }] }],
  });
  const service = await startService({ env: { ...env, OSTIARY_CATALOG: catalog.file } });
  return {
    service,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}

function stream(service: Service, key: string): Promise<Response> {
  return sendChat(service.baseUrl, key, { model: "acme/chat", stream: true });
}

describe("a service that is told to stop", () => {
  it("is unready at once, and serves requests until a load balancer has seen that", async () => {
    const prestopS = 2;
    await using service = await startService({ env: { OSTIARY_PRESTOP_S: String(prestopS) } });
    const { key } = await signUpWithKey(service.baseUrl);
    expect(await readiness(service.baseUrl)).toMatchObject({ status: 200 });
    const toldMs = performance.now();
    const exited = service.stop();
    await expect
      .poll(() => readiness(service.baseUrl), { interval: 5 })
      .toMatchObject({
        status: 503,
        reason: "stopping",
      });
    let served = 0;
    for (;;) {
      const status = await statusOf(service.baseUrl, key).catch(() => null);
      if (status === null) break;
      expect(status).toBe(200);
      served++;
    }
    // Timers end a little early by another clock.
    expect(performance.now() - toldMs).toBeGreaterThan(prestopS * 1_000 - 100);
    expect(served).toBeGreaterThan(1);
    expect(await exited).toBe(0);
  });

  // Deno's server says nothing of connections before its shutdown.
  it.skipIf(RUNTIME === "deno")("asks its clients to close their connections meanwhile", async () => {
    await using service = await startService({ env: { OSTIARY_PRESTOP_S: "300" } });
    using agent = Object.assign(new Agent({ keepAlive: true }), {
      [Symbol.dispose]: () => agent.destroy(),
    });
    const connectionHeader = async () => {
      const [response] = await once(get(`${service.baseUrl}/readyz`, { agent }), "response");
      response.resume();
      await once(response, "end");
      return response.headers.connection;
    };
    expect(await connectionHeader()).toBe("keep-alive");
    process.kill(service.pid, "SIGTERM");
    await expect.poll(connectionHeader).toBe("close");
    await stopAtOnce(service);
  });

  it("waits for a load balancer only where there is one, and only when it is asked to drain", async () => {
    expect(readConfig({}).prestopS).toBe(0);
    expect(readConfig({ TRUSTED_PROXIES: "10.0.0.0/8" }).prestopS).toBe(5);
    expect(readConfig({ TRUSTED_PROXIES: "10.0.0.0/8", OSTIARY_PRESTOP_S: "0" }).prestopS).toBe(0);
    expect(readConfig({ OSTIARY_PRESTOP_S: "12" }).prestopS).toBe(12);
    expect(() => readConfig({ OSTIARY_PRESTOP_S: "soon" })).toThrow("OSTIARY_PRESTOP_S");
    // Nothing is behind a proxy at a terminal.
    await using service = await startService({ env: { OSTIARY_PRESTOP_S: "300" } });
    process.kill(service.pid, "SIGINT");
    await expect.poll(() => readiness(service.baseUrl).catch(() => "gone")).toBe("gone");
  });

  it("is not told so by SIGHUP, also without a file that is read again", async () => {
    await using service = await startService();
    process.kill(service.pid, "SIGHUP");
    // It ends by SIGTERM, with an exit code, and not by the signal before.
    expect(await service.stop()).toBe(0);
  });

  it("treats a signal that is sent twice as one", async () => {
    await using upstream = await startHalfway();
    await using behind = await startBehind(upstream, { OSTIARY_DRAIN_S: "300" });
    const { key } = await signUpWithKey(behind.service.baseUrl);
    const response = await stream(behind.service, key);
    process.kill(behind.service.pid, "SIGTERM");
    const exited = behind.service.stop();
    await expect.poll(() => readiness(behind.service.baseUrl).catch(() => "gone")).toBe("gone");
    upstream.finish();
    const text = await response.text();
    expect(text).toContain("whole");
    expect(text).toContain("[DONE]");
    expect(await exited).toBe(0);
    expect(behind.service.stderr()).not.toContain("second signal");
  });

  // Deno's server closes connections by itself.
  it.skipIf(RUNTIME === "deno")(
    "answers what a proxy sends on the connection of a stream that has ended meanwhile",
    async () => {
      await using upstream = await startHalfway();
      await using behind = await startBehind(upstream, { OSTIARY_DRAIN_S: "300" });
      const { service } = behind;
      const { key } = await signUpWithKey(service.baseUrl);
      const connection = connect(Number(new URL(service.baseUrl).port), "127.0.0.1");
      const closed = once(connection, "close");
      let received = "";
      connection.setEncoding("utf8").on("data", (text) => {
        received += text;
      });
      const ask = (line: string, body = "") =>
        connection.write(
          `${line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      const messages = [{ role: "user", content: "hi" }];
      ask("POST /v1/chat/completions", JSON.stringify({ model: "acme/chat", messages, stream: true }));
      await expect.poll(() => received).toContain("half");
      expect(received).toContain("keep-alive");

      process.kill(service.pid, "SIGTERM");
      const exited = service.stop();
      await expect.poll(() => readiness(service.baseUrl).catch(() => "gone")).toBe("gone");
      upstream.finish();
      await expect.poll(() => received, { interval: 1 }).toMatch(/\r\n0\r\n\r\n$/);
      received = "";
      await new Promise((resolve) => setTimeout(resolve, 20));
      ask("GET /v1/models");
      await closed;
      expect(received).toMatch(/^HTTP\/1\.1 200 /);
      expect(received.toLowerCase()).toContain("connection: close");
      expect(await exited).toBe(0);
    },
  );

  it("aborts running requests at a second signal, and reports that to clients and in the log", async () => {
    await using upstream = await startModelServer(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: "never ending" }));
    });
    await using behind = await startBehind(upstream, { OSTIARY_PRESTOP_S: "300", OSTIARY_DRAIN_S: "3600" });
    const { key } = await signUpWithKey(behind.service.baseUrl);
    const response = await stream(behind.service, key);
    const [code, text] = await Promise.all([stopAtOnce(behind.service), response.text()]);
    expect(code).toBe(0);
    expect(text).toContain("server_is_overloaded");
    expect(behind.service.stderr().match(/second signal received/g)).toHaveLength(1);
  });
});

/** Code that a process runs before the program: it sends a signal as soon as the program listens for it, before it has loaded HTTP. */
function signalEarly(signal: string): string {
  const code = `
    const { on } = process;
    process.on = function (name, listener) {
      on.call(this, name, listener);
      const isLoaded = this.moduleLoadList.includes("NativeModule http");
      if (name !== "SIGHUP" || isLoaded) return this;
      process.stderr.write("signal sent\\n");
      process.kill(process.pid, "${signal}");
      return this;
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

describe.runIf(RUNTIME === "node")("a service that is still being loaded", () => {
  const programs: Record<string, readonly string[]> = {
    "the service": ["server/dist/main.js"],
    "its command": ["server/dist/ostiary-server.js", "start"],
  };
  for (const [what, program] of Object.entries(programs)) {
    const command = [process.execPath, ...program] as const;
    it.each(["SIGTERM", "SIGINT"])(`ends with code 0 when it is told to: ${what}, %s`, async (signal) => {
      const { code, stderr } = await runToExit({ command, env: { NODE_OPTIONS: signalEarly(signal) } });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "signal sent\n" });
    });

    it(`goes on after SIGHUP: ${what}`, async () => {
      await using service = await startService({ command, env: { NODE_OPTIONS: signalEarly("SIGHUP") } });
      expect(service.stderr()).toContain("signal sent");
      expect(await service.stop()).toBe(0);
    });
  }
});

describe("a service that starts", () => {
  it("is ready only when the first operator and the demo account exist", async () => {
    const port = await freePort();
    const env = { ...OPERATOR_ENV, PORT: String(port), OSTIARY_DEMO: "1" };
    const starting = startService({ env });
    const baseUrl = `http://127.0.0.1:${port}`;
    const seen = new Set<string>();
    const status = async () => {
      const answer = await readiness(baseUrl).catch(() => null);
      if (answer?.status === 503) seen.add(answer.reason ?? "");
      return answer?.status;
    };
    await expect.poll(status, { interval: 5, timeout: 60_000 }).toBe(200);
    await signInOperator(baseUrl);
    await using service = await starting;
    const note = await readFile(join(service.dataDir, "demo-sign-in.txt"), "utf8");
    const [, email = "", password = ""] = /e-mail: (\S+)\npassword: (\S+)/.exec(note) ?? [];
    await visit(baseUrl).trpc.auth.signIn.mutate({ email, password });
    expect([...seen].filter((reason) => reason !== "starting")).toEqual([]);
  });

  it.skipIf(process.env.OSTIARY_TEST_DATABASE_URL === undefined)(
    "reports that it is starting until the operator is created",
    async () => {
      await using first = await startService({ env: { REDIS_URL: undefined } });
      await first.stop();
      const port = await freePort();
      const baseUrl = `http://127.0.0.1:${port}`;
      const sql = postgres(first.databaseUrl ?? "", { max: 1 });
      const starting = await sql.begin(async (transaction) => {
        // Who reads users passes, who makes one waits.
        await transaction`lock table users in exclusive mode`;
        const service = startService({
          databaseUrl: first.databaseUrl ?? "",
          env: { ...OPERATOR_ENV, PORT: String(port), REDIS_URL: undefined },
        });
        const answer = () => readiness(baseUrl).catch(() => null);
        await expect.poll(answer, { timeout: 60_000 }).toEqual({ status: 503, reason: "starting" });
        return { service };
      });
      await sql.end();
      await using service = await starting.service;
      expect(await readiness(service.baseUrl)).toEqual({ status: 200, reason: null });
      await signInOperator(service.baseUrl);
    },
  );
});

describe("shutting down", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A log, and what was written to it. */
  function keptLog() {
    const lines: Record<string, unknown>[] = [];
    return { lines, log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }) };
  }

  it("closes everything in reverse order, past steps that fail or hang, which are named", async () => {
    const { lines, log } = keptLog();
    const teardown = new Teardown();
    const undone: string[] = [];
    teardown.add("first", async () => void undone.push("first"));
    teardown.add("failing", async () => {
      undone.push("failing");
      throw new Error("no");
    });
    teardown.add("throwing", () => {
      undone.push("throwing");
      throw new Error("at once");
    });
    teardown.add("hanging", () => new Promise(() => undone.push("hanging")));
    teardown.add("last", async () => void undone.push("last"));
    await teardown.run(log, () => 200);
    expect(undone).toEqual(["last", "hanging", "throwing", "failing", "first"]);
    expect(lines.map(({ part, msg }) => [part, msg])).toEqual([
      ["hanging", "a part of the service did not stop in time"],
      ["throwing", "a part of the service did not stop cleanly"],
      ["failing", "a part of the service did not stop cleanly"],
    ]);
  });

  it("takes no longer than its timeout, however many steps hang", async () => {
    vi.useFakeTimers();
    const { log } = keptLog();
    const teardown = new Teardown();
    for (let part = 0; part < 10; part++) teardown.add(String(part), () => new Promise(() => {}));
    const endMs = performance.now() + 5_000;
    const running = teardown.run(log, () => endMs - performance.now());
    // The last parts get some milliseconds each, which is what the end itself has time for.
    await vi.advanceTimersByTimeAsync(5_100);
    await running;
    expect(teardown.current).toBe(null);
  });

  it("ends the process when the timeout is over", async () => {
    vi.useFakeTimers();
    const { log } = keptLog();
    const overdue = vi.fn();
    const shutdown = new Shutdown({ times: { prestopS: 2, drainS: 3 }, log, end: () => {}, overdue });
    shutdown.begin("SIGTERM");
    await vi.advanceTimersByTimeAsync(9_999);
    expect(overdue).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(overdue).toHaveBeenCalledOnce();
  });

  it("gets no more time by a second signal", async () => {
    vi.useFakeTimers();
    const { log } = keptLog();
    const overdue = vi.fn();
    const shutdown = new Shutdown({ times: { prestopS: 60, drainS: 600 }, log, end: () => {}, overdue });
    shutdown.begin("SIGTERM");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(shutdown.hurry.aborted).toBe(false);
    shutdown.begin("SIGINT");
    expect(shutdown.hurry.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(overdue).toHaveBeenCalledOnce();
  });
});

it.runIf(RUNTIME === "node")("a service that npm has started ends when npm is told to", async () => {
  await using service = await startService({ command: ["npm", "start"] });
  const isServing = () =>
    fetch(`${service.baseUrl}/healthz`).then(
      () => true,
      () => false,
    );
  expect(await isServing()).toBe(true);
  await service.stop();
  await expect.poll(isServing).toBe(false);
});
