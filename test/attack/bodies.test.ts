import { once } from "node:events";
import { readdir, readFile, readlink } from "node:fs/promises";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { answerWhole, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { openRaw, type RawConnection } from "../fixtures/raw-http.ts";
import { sendChat } from "../fixtures/request.ts";
import { RUNTIME, type Service, startService } from "../fixtures/service.ts";
import { signUp, signUpWithKey } from "../fixtures/user.ts";

// How much of a node callers without a key, or one account, can use with bodies that they do not finish.

const MIB = 1024 * 1024;
const MAX_BODY_BYTES = MIB;
const UNFINISHED_BYTES = 8 * MIB;
const CONCURRENT = 12;
const limits = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: CONCURRENT };

let service: Service;
let catalog: CatalogFile;
/** Keeps the requests for the model `held` until a test answers them. */
let models: ModelServer;

beforeAll(async () => {
  models = await startModelServer(() => {});
  catalog = await writeCatalog({
    upstreams: { sandbox: { dialect: "sandbox" }, held: { dialect: "openai", baseUrl: models.baseUrl } },
    models: [
      { id: "sandbox/echo", routes: [{ upstream: "sandbox", model: "echo" }] },
      { id: "held", routes: [{ upstream: "held" }] },
    ],
  });
  service = await startService({
    env: {
      OSTIARY_CATALOG: catalog.file,
      OSTIARY_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
      OSTIARY_MAX_UNFINISHED_BODY_BYTES: String(UNFINISHED_BYTES),
      OSTIARY_MAX_CONNECTIONS: "300",
      TRUSTED_PROXIES: "127.0.0.1",
      OSTIARY_PLANS: JSON.stringify({ free: limits, pro: limits, enterprise: limits }),
      OSTIARY_LOG: "silent",
    },
  });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
  await models?.[Symbol.asyncDispose]();
});

const chatHead = (key: string, more: string) =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${more}\r\n\r\n`;
const callHead = (procedure: string, bytes: number) =>
  `POST /trpc/${procedure} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`;
const declared = (bytes: number) => `content-length: ${bytes}`;
const bytesInUse = () => metricOf(service.baseUrl, "ostiary_request_body_bytes");
const refused = (reason: string) =>
  metricOf(service.baseUrl, `ostiary_request_bodies_refused_total{reason="${reason}"}`);

async function chat(key: string): Promise<number> {
  const response = await sendChat(service.baseUrl, key);
  await response.arrayBuffer();
  return response.status;
}

/** Opens connections that each send a head and most of a body, and then nothing. */
async function unfinished(count: number, head: string, bytes: number): Promise<RawConnection[]> {
  const connections = await Promise.all(Array.from({ length: count }, () => openRaw(service.baseUrl)));
  const most = Buffer.alloc(bytes, " ");
  for (const connection of connections) {
    connection.send(head);
    connection.send(most);
  }
  return connections;
}

const close = (connections: readonly RawConnection[]) => {
  for (const connection of connections) connection[Symbol.dispose]();
};

describe("unfinished bodies", () => {
  it("of one account use a share of the budget, and requests of others continue", async () => {
    const [{ key }, other] = [await signUpWithKey(service.baseUrl), await signUpWithKey(service.baseUrl)];
    const fitting = await unfinished(3, chatHead(key, declared(MAX_BODY_BYTES)), 900_000);
    // Connections are not served in the order in which they were opened.
    await expect.poll(bytesInUse).toBe(3 * MAX_BODY_BYTES);
    const more = await unfinished(6, chatHead(key, declared(MAX_BODY_BYTES)), 900_000);
    const answers = await Promise.race([
      Promise.all(more.map((connection) => connection.answer())),
      Promise.any(fitting.map((connection) => connection.closed)),
    ]);
    expect(Array.isArray(answers) && answers.map(({ status }) => status)).toEqual(Array(6).fill(429));
    const [first] = Array.isArray(answers) ? answers : [];
    expect(first?.headers.get("retry-after")).toBe("1");
    expect(JSON.parse(first?.body ?? "").error.code).toBe("rate_limit_exceeded");
    expect(await bytesInUse()).toBeLessThanOrEqual(4 * MAX_BODY_BYTES);
    expect(await refused("account_bytes")).toBeGreaterThanOrEqual(6);
    expect(await chat(other.key)).toBe(200);
    // Its own small requests find room beside its large ones.
    expect(await chat(key)).toBe(200);
    close([...fitting, ...more]);
    await expect.poll(bytesInUse).toBe(0);
  });

  it("are limited to the account's concurrent requests, and refused ones leave audit entries", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const connections = await unfinished(CONCURRENT, chatHead(key, declared(1_000)), 10);
    await expect.poll(bytesInUse).toBe(CONCURRENT * 1_000);
    using another = await openRaw(service.baseUrl);
    another.send(chatHead(key, declared(1_000)));
    const { status, body } = await another.answer();
    expect(status).toBe(429);
    expect(JSON.parse(body).error.code).toBe("too_many_concurrent_requests");
    const listed = await fetch(`${service.baseUrl}/v1/audit?limit=1`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect((await listed.json()).data[0]).toMatchObject({
      endpoint: "POST /v1/chat/completions",
      status: 429,
      error_code: "too_many_concurrent_requests",
    });
    close(connections);
    await expect.poll(bytesInUse).toBe(0);
  });

  it("of callers without a key use a share for each address, and requests with keys continue", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const size = 16_000;
    const count = Math.floor(UNFINISHED_BYTES / 2 / size);
    const refusedBefore = await refused("address_bytes");
    // Not of `auth.*`, whose calls are limited for each address by themselves.
    const fitting = await unfinished(count, callHead("keys.create", size), 100);
    await expect.poll(bytesInUse).toBe(count * size);
    const more = await unfinished(8, callHead("keys.create", size), 100);
    const answers = await Promise.all(more.map((connection) => connection.answer()));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(429));
    expect(await refused("address_bytes")).toBe(refusedBefore + 8);
    expect(await bytesInUse()).toBe(count * size);
    expect(await chat(key)).toBe(200);
    close([...fitting, ...more]);
    await expect.poll(bytesInUse).toBe(0);
  });

  it("of callers without a key count together for the addresses of one IPv6 network", async () => {
    const size = 16_000;
    const count = Math.floor(UNFINISHED_BYTES / 2 / size);
    const before = await refused("address_bytes");
    const connections = await Promise.all(Array.from({ length: count + 8 }, () => openRaw(service.baseUrl)));
    for (const [index, connection] of connections.entries()) {
      const from = `x-forwarded-for: 2001:db8::${index.toString(16)}`;
      connection.send(callHead("keys.create", size).replace("host: x", `host: x\r\n${from}`));
    }
    await expect.poll(() => refused("address_bytes")).toBe(before + 8);
    expect(await bytesInUse()).toBe(count * size);
    close(connections);
    await expect.poll(bytesInUse).toBe(0);
  });

  it("of many accounts have one limit for the process, which answers 503 and keeps room for small requests", async () => {
    const owners = await Promise.all([1, 2, 3].map(() => signUpWithKey(service.baseUrl)));
    const held: RawConnection[] = [];
    for (const { key } of owners) {
      held.push(...(await unfinished(3, chatHead(key, declared(MAX_BODY_BYTES)), 500_000)));
    }
    await expect.poll(() => refused("process_bytes")).toBeGreaterThanOrEqual(2);
    expect(await bytesInUse()).toBeLessThanOrEqual((7 / 8) * UNFINISHED_BYTES);
    const { key } = await signUpWithKey(service.baseUrl);
    using another = await openRaw(service.baseUrl);
    another.send(chatHead(key, declared(MAX_BODY_BYTES)));
    const { status, headers, body } = await another.answer();
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("1");
    expect(JSON.parse(body).error.code).toBe("server_is_overloaded");
    expect(await chat(key)).toBe(200);
    close(held);
    await expect.poll(bytesInUse).toBe(0);
  });

  it("of undeclared length use as much budget as has arrived", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    using connection = await openRaw(service.baseUrl);
    connection.send(chatHead(key, "transfer-encoding: chunked"));
    const piece = Buffer.alloc(100_000, " ");
    connection.send(Buffer.concat([Buffer.from("186a0\r\n"), piece, Buffer.from("\r\n")]));
    await expect.poll(bytesInUse).toBeGreaterThanOrEqual(100_000);
    expect(await bytesInUse()).toBeLessThanOrEqual(300_000);
    for (let sent = 1; sent < 12; sent++) {
      connection.send(Buffer.concat([Buffer.from("186a0\r\n"), piece, Buffer.from("\r\n")]));
    }
    expect((await connection.answer()).status).toBe(413);
    await expect.poll(bytesInUse).toBe(0);
  });
});

describe("bodies of requests that wait for a model", () => {
  /** Sends a body to a model that does not answer before {@link answerAll}. */
  const ask = (key: string, more: object, bytes = 1_000_000) =>
    sendChat(service.baseUrl, key, {
      model: "held",
      messages: [{ role: "user", content: "x".repeat(bytes) }],
      ...more,
    });
  const untilReceived = (count: number) => expect.poll(() => models.received.length).toBe(count);
  const answerAll = () => {
    for (const request of models.received.splice(0)) answerWhole(request);
  };
  afterEach(answerAll);

  it("use the account's share of the budget until they are answered, and requests of others continue", async () => {
    const [{ key }, other] = [await signUpWithKey(service.baseUrl), await signUpWithKey(service.baseUrl)];
    const waiting = [ask(key, {}), ask(key, {}), ask(key, {})];
    await untilReceived(3);
    expect(await bytesInUse()).toBeGreaterThan(3 * 1_000_000);
    const refusedBefore = await refused("account_bytes");
    const more = await Promise.all(Array.from({ length: 6 }, () => ask(key, {})));
    expect(more.map(({ status }) => status)).toEqual(Array(6).fill(429));
    for (const response of more) expect((await response.json()).error.code).toBe("rate_limit_exceeded");
    expect(await refused("account_bytes")).toBe(refusedBefore + 6);
    expect(await chat(other.key)).toBe(200);
    expect(await chat(key)).toBe(200);
    answerAll();
    for (const response of await Promise.all(waiting)) {
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    }
    await expect.poll(bytesInUse).toBe(0);
    expect((await ask(key, { model: "sandbox/echo" })).status).toBe(200);
  });

  it("leave the account its slots for requests that are received", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const waiting = Array.from({ length: CONCURRENT - 1 }, () => ask(key, {}, 10));
    await untilReceived(CONCURRENT - 1);
    expect(await chat(key)).toBe(200);
    answerAll();
    for (const response of await Promise.all(waiting)) await response.arrayBuffer();
  });
});

describe("a key that is not authorized", () => {
  it("uses none of its account's slots for bodies that it does not finish", async () => {
    const { key, trpc } = await signUpWithKey(service.baseUrl);
    const { key: leaked, id } = await trpc.keys.create.mutate({ name: "leaked" });
    const connections = await unfinished(CONCURRENT, chatHead(leaked, declared(1_000)), 10);
    await expect.poll(bytesInUse).toBe(CONCURRENT * 1_000);
    expect(await chat(key)).toBe(429);
    await trpc.keys.revoke.mutate({ id });
    const answers = await Promise.all(connections.map((connection) => connection.answer()));
    expect(answers.map(({ status }) => status)).toEqual(Array(CONCURRENT).fill(401));
    expect(await bytesInUse()).toBe(0);
    const again = await unfinished(CONCURRENT, chatHead(leaked, declared(1_000)), 10);
    for (const connection of again) expect((await connection.answer()).status).toBe(401);
    expect(await chat(key)).toBe(200);
    close([...connections, ...again]);
  });
});

describe("a body that is refused", () => {
  const refusals: readonly (readonly [string, number, (key: string) => string])[] = [
    ["too large", 413, (key) => chatHead(key, declared(MAX_BODY_BYTES + 1))],
    [
      "of another type",
      415,
      (key) => chatHead(key, declared(1_000)).replace("application/json", "text/plain"),
    ],
    ["compressed", 415, (key) => chatHead(key, `${declared(1_000)}\r\ncontent-encoding: gzip`)],
    ["compressed in its transfer", 415, (key) => chatHead(key, "transfer-encoding: gzip, chunked")],
    ["without a key", 401, () => chatHead("sk-none", declared(MAX_BODY_BYTES))],
  ];

  it.each(refusals)("%s is answered %i before any of its bytes are read", async (_, status, headFor) => {
    const { key } = await signUpWithKey(service.baseUrl);
    using connection = await openRaw(service.baseUrl);
    connection.send(headFor(key));
    expect((await connection.answer()).status).toBe(status);
  });

  it.skipIf(RUNTIME === "deno")(
    "is answered also to a client that sends all of it before it reads",
    async () => {
      const { key } = await signUpWithKey(service.baseUrl);
      const { port, hostname } = new URL(service.baseUrl);
      const socket = connect(Number(port), hostname);
      const broken = once(socket, "close").then(() => Promise.reject(new Error("the connection was closed")));
      socket.on("error", () => {});
      const send = (data: string | Uint8Array) =>
        Promise.race([new Promise((resolve) => socket.write(data, resolve)), broken]);
      const pieces = 80;
      await send(chatHead(key, declared(pieces * MIB)));
      const piece = Buffer.alloc(MIB, " ");
      for (let sent = 0; sent < pieces; sent++) await send(piece);
      const [answer] = await Promise.race([once(socket, "data"), broken]);
      expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
      socket.destroy();
    },
  );

  it.skipIf(RUNTIME === "deno")("is not requested from a client that waits for 100 Continue", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const expecting = (more: string) => `${more}\r\nexpect: 100-continue`;
    using refused = await openRaw(service.baseUrl);
    refused.send(chatHead(key, expecting(declared(MAX_BODY_BYTES + 1))));
    // Its next request would otherwise be taken for the body, which it may never send.
    expect((await refused.answer()).headers.get("connection")).toBe("close");
    expect(await refused.closed).not.toContain("100 Continue");
    using taken = await openRaw(service.baseUrl);
    const body = JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] });
    taken.send(chatHead(key, expecting(declared(body.length))));
    taken.send(body);
    expect((await taken.answer()).status).toBe(200);
  });

  it.skipIf(RUNTIME === "deno")(
    "may arrive to its end on a connection that is closed after the answer, which is not lost thereby",
    async () => {
      using connection = await openRaw(service.baseUrl);
      connection.send(chatHead("sk-none", `connection: close\r\n${declared(1_000)}`));
      expect((await connection.answer()).status).toBe(401);
      for (let piece = 0; piece < 10; piece++) {
        await setTimeout(20);
        expect(connection.isOpen).toBe(true);
        connection.send(" ".repeat(100));
      }
      await connection.closed;
    },
  );

  it("that arrives in single bytes is refused before it costs more than its size", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    using connection = await openRaw(service.baseUrl);
    connection.send(chatHead(key, "transfer-encoding: chunked"));
    connection.send("1\r\n \r\n".repeat(20_000));
    const { status, body } = await connection.answer();
    expect(status).toBe(400);
    expect(JSON.parse(body).error.message).toContain("chunks");
  });
});

/** The clients' ports of the connections that a process has open. */
async function servedConnections(pid: number): Promise<readonly number[]> {
  const names = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => "")));
  const inodes = new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
  const rows = (await readFile("/proc/net/tcp", "utf8")).split("\n").slice(1);
  return rows.flatMap((row) => {
    const [, , remote = "", , , , , , , inode = ""] = row.trim().split(/ +/);
    return inodes.has(inode) ? [Number.parseInt(remote.split(":")[1] ?? "", 16)] : [];
  });
}

describe.concurrent("a slow client", () => {
  it("is answered 408 while it sends a body", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    using connection = await openRaw(service.baseUrl);
    connection.send(chatHead(key, declared(50_000)));
    const drip = setInterval(() => connection.send(" ".repeat(500)), 500);
    const { status, headers, body } = await connection.answer().finally(() => clearInterval(drip));
    expect(status).toBe(408);
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    expect(JSON.parse(body).error.code).toBe("request_timeout");
    expect(await refused("too_slow")).toBeGreaterThanOrEqual(1);
  });

  it("is answered 408 while it sends the body of a procedure call or of a management operation", async () => {
    const { trpc } = await signUp(service.baseUrl);
    const { token } = await trpc.tokens.create.mutate({ name: "slow" });
    using connection = await openRaw(service.baseUrl);
    connection.send(callHead("auth.signIn", 5_000));
    using rest = await openRaw(service.baseUrl);
    rest.send(
      `POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
        `content-type: application/json\r\n${declared(5_000)}\r\n\r\n{`,
    );
    expect((await connection.answer()).status).toBe(408);
    const { status, body } = await rest.answer();
    expect(status).toBe(408);
    expect(JSON.parse(body).error.code).toBe("request_timeout");
  });

  it.skipIf(RUNTIME === "deno")(
    "is disconnected when it sends its headers slowly or nothing at all",
    async () => {
      using silent = await openRaw(service.baseUrl);
      using slow = await openRaw(service.baseUrl);
      slow.send("GET /v1/models HTTP/1.1\r\n");
      await Promise.all([silent.closed, slow.closed]);
    },
  );

  it.skipIf(RUNTIME === "deno" || process.platform !== "linux")(
    "is disconnected when it does not read its answers",
    { timeout: 300_000 },
    async () => {
      const { hostname, port } = new URL(service.baseUrl);
      const sockets = Array.from({ length: 5 }, () => connect(Number(port), hostname));
      await Promise.all(sockets.map((socket) => once(socket, "connect")));
      for (const socket of sockets) {
        socket.on("error", () => {});
        // More than the system keeps for a client that reads nothing.
        socket.write("GET /v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(100));
      }
      const ports = new Set(sockets.map(({ localPort }) => localPort));
      const isServed = () => servedConnections(service.pid).then((of) => of.filter((one) => ports.has(one)));
      await expect.poll(isServed).toHaveLength(5);
      await expect.poll(isServed, { timeout: 150_000, interval: 1_000 }).toEqual([]);
      for (const socket of sockets) socket.destroy();
    },
  );

  it.skipIf(RUNTIME === "deno")("is disconnected when it does not finish a refused body", async () => {
    using connection = await openRaw(service.baseUrl);
    connection.send(chatHead("sk-none", declared(1_000)));
    expect(await connection.closed).toContain("HTTP/1.1 401");
  });
});

describe.skipIf(RUNTIME === "deno")("connections", () => {
  it("are limited to the number that the operator has set", async () => {
    const connections = await Promise.all(Array.from({ length: 400 }, () => openRaw(service.baseUrl)));
    await expect.poll(() => connections.filter(({ isOpen }) => isOpen).length).toBeLessThanOrEqual(300);
    close(connections);
    await expect.poll(async () => (await fetch(`${service.baseUrl}/healthz`)).status).toBe(200);
  });
});

it("memory stays within the budget whatever is sent", async () => {
  const status = await readFile(`/proc/${service.pid}/status`, "utf8").catch(() => "VmHWM: 0 kB");
  const peakBytes = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1_024;
  // A runtime with nothing to do takes some 130 MB, Deno more.
  expect(peakBytes).toBeLessThan(600 * MIB);
});
