import { once } from "node:events";
import { readdir, readlink } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startOperatedService } from "../fixtures/operator.ts";
import { sendRest } from "../fixtures/rest.ts";
import { RUNTIME, type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

const CLIENTS = 3_000;
const TIMEOUT_MS = 60_000;

/** Clients that ask for a model that does not exist, each again as soon as it is answered. */
class Crowd implements AsyncDisposable {
  readonly statuses = new Map<number, number>();
  readonly refusals = new Set<string>();
  /** The clients that were answered at least once. */
  readonly answered = new Set<number>();
  readonly #sockets: Socket[] = [];
  #isOver = false;

  constructor({ baseUrl }: Service, key: string) {
    const { hostname, port } = new URL(baseUrl);
    const body = JSON.stringify({ model: "no/such", messages: [{ role: "user", content: "hi" }] });
    const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    for (let client = 0; client < CLIENTS; client++) {
      const socket = connect(Number(port), hostname, () => socket.write(request));
      socket.setEncoding("latin1").on("data", (answer: string) => {
        const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? Number.NaN);
        if (Number.isNaN(status)) return;
        this.answered.add(client);
        this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
        if (status === 503) this.refusals.add(answer.replace(/req_\w+|date: [^\r]*/gi, ""));
        if (!this.#isOver) socket.write(request);
      });
      socket.on("error", () => {});
      this.#sockets.push(socket);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    const closed = this.#sockets.filter((socket) => !socket.closed).map((socket) => once(socket, "close"));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }
}

describe("a service to which more requests come than it can serve", () => {
  let service: Service;
  let owner: Owner;
  let key: string;
  beforeAll(async () => {
    service = await startOperatedService();
    owner = await signUp(service.baseUrl);
    key = (await owner.trpc.keys.create.mutate({ name: "crowd" })).key;
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
  });

  it("refuses some at once, serves the others, lets keys be revoked, and recovers", async () => {
    const spare = await owner.trpc.keys.create.mutate({ name: "spare" });
    const { token: credential } = await owner.trpc.tokens.create.mutate({ name: "script" });
    {
      await using crowd = new Crowd(service, key);
      await expect.poll(() => crowd.statuses.get(503) ?? 0, { timeout: TIMEOUT_MS }).toBeGreaterThan(100);
      await expect.poll(() => crowd.answered.size, { timeout: TIMEOUT_MS }).toBe(CLIENTS);
      const revoked = await sendRest(service.baseUrl, "POST", `/v1/keys/${spare.id}/revoke`, {
        credential,
      });
      expect(revoked.status).toBe(200);
      expect([...crowd.statuses.keys()].sort()).toEqual([404, 503]);
      const [refusal, ...others] = crowd.refusals;
      expect(others).toEqual([]);
      expect(refusal).toMatch(/retry-after: 1\r\n/i);
      expect(refusal).toContain('"code":"server_is_overloaded"');
    }
    const status = async () => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`${service.baseUrl}/v1/models`, { headers })).status;
    };
    await expect.poll(status, { timeout: TIMEOUT_MS }).toBe(200);
    await expect.poll(() => service.stderr(), { timeout: TIMEOUT_MS }).toContain("some are refused");
  });
});

/** The handles of the socket of which a process has most, which is the one that it listens on. */
async function listeningHandles({ pid }: Service): Promise<number> {
  const counts = new Map<string, number>();
  for (const name of await readdir(`/proc/${pid}/fd`)) {
    const target = await readlink(`/proc/${pid}/fd/${name}`).catch(() => "");
    if (target.startsWith("socket:")) counts.set(target, (counts.get(target) ?? 0) + 1);
  }
  return Math.max(...counts.values());
}

describe.runIf(RUNTIME === "node")("connections", () => {
  it("are accepted up to the maximum, however many come at once", async () => {
    await using service = await startService({ env: { OSTIARY_MAX_CONNECTIONS: "60" } });
    const { hostname, port } = new URL(service.baseUrl);
    const sockets = Array.from({ length: 200 }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on("error", () => {});
    let answered = 0;
    for (const socket of sockets) {
      socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      socket.once("data", () => answered++);
    }
    await expect.poll(() => sockets.filter((socket) => socket.closed).length).toBe(140);
    await expect.poll(() => answered).toBe(60);
    for (const socket of sockets) socket.destroy();
    // The places are free again.
    await expect.poll(async () => (await fetch(`${service.baseUrl}/healthz`)).status).toBe(200);
  });

  it.runIf(process.platform === "linux")(
    "stay open when the handles that accepted a crowd are closed",
    async () => {
      await using service = await startService();
      const { hostname, port } = new URL(service.baseUrl);
      await expect.poll(() => listeningHandles(service)).toBe(32);
      const sockets = Array.from({ length: 300 }, () => connect(Number(port), hostname));
      let answers = 0;
      for (const socket of sockets) socket.on("data", () => answers++);
      const ask = () => {
        for (const socket of sockets) socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      };
      ask();
      await expect.poll(() => listeningHandles(service)).toBe(32 + 256);
      await expect.poll(() => listeningHandles(service)).toBe(32);
      await expect.poll(() => answers).toBe(sockets.length);
      ask();
      await expect.poll(() => answers).toBe(2 * sockets.length);
      for (const socket of sockets) socket.destroy();
    },
  );

  it.runIf(process.platform === "linux")(
    "beyond what the process may open are warned of, and leave it the rest",
    async () => {
      const command = ["sh", "-c", "ulimit -n 600 && exec node server/dist/main.js"] as const;
      await using service = await startService({ command });
      expect(service.stderr()).toMatch(/There may be 10000 connections .* may open only 600 files/);
      await expect.poll(() => listeningHandles(service)).toBe(32);
      process.kill(service.pid, "SIGSTOP");
      const { hostname, port } = new URL(service.baseUrl);
      const sockets = Array.from({ length: 300 }, () => connect(Number(port), hostname));
      await Promise.all(sockets.map((socket) => once(socket, "connect")));
      process.kill(service.pid, "SIGCONT");
      let answers = 0;
      for (const socket of sockets) {
        socket.on("data", () => answers++);
        socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      }
      await expect.poll(() => answers).toBe(sockets.length);
      expect(await listeningHandles(service)).toBe(32);
      for (const socket of sockets) socket.destroy();
    },
  );

  it("that a client has closed for its own part get their answer, whichever handle accepted them", async () => {
    await using service = await startService();
    const { hostname, port } = new URL(service.baseUrl);
    const answers = Array.from({ length: 100 }, async () => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      socket.end("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
      let text = "";
      for await (const piece of socket.setEncoding("utf8")) text += piece;
      return text.slice(0, 15);
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["HTTP/1.1 200 OK"]));
  });
});
