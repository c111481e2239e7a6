import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { metricOf } from "../fixtures/metrics.ts";
import { openRaw } from "../fixtures/raw-http.ts";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

// How much of a node a client can use who sends requests on one connection without awaiting their answers.

const service = sharedByFile(() => startService({ env: { OSTIARY_LOG: "silent" } }));
let key: string;

beforeAll(async () => {
  key = (await signUpWithKey(service.baseUrl)).key;
});

const MIB = 1024 * 1024;
const CALL = "GET /trpc/auth.me HTTP/1.1\r\nhost: x\r\n\r\n";
const HEALTH = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
const refusedCalls = () =>
  metricOf(service.baseUrl, 'ostiary_procedure_calls_refused_total{reason="address"}');

/** A request to a model that answers after some time. */
function slowRequest(delayMs: number): string {
  const body = JSON.stringify({
    model: "sandbox/echo",
    messages: [{ role: "user", content: `sandbox:delay ${delayMs}` }],
  });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
  return `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

describe.skipIf(RUNTIME === "deno")("a request that is answered before its body has arrived", () => {
  it.each([
    { name: "a chunk that is too long", body: "5\r\n12345X\r\n0\r\n\r\n" },
    { name: "a length in its trailers", body: "5\r\n12345\r\n0\r\ncontent-length: 5\r\n\r\n" },
  ])(
    "gets no second answer for $name, which would be taken for that to the next request",
    async ({ body }) => {
      const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
      for (const asked of [head, head.replace("/v1/chat/completions", "/healthz")]) {
        using connection = await openRaw(service.baseUrl);
        connection.send(asked + body);
        expect((await connection.closed).match(/HTTP\/1\.1 \d+/g)).toHaveLength(1);
      }
    },
  );
});

// Deno refuses such a request.
describe.skipIf(RUNTIME === "deno")("a request of HTTP/1.0 whose body is in chunks", () => {
  it.each(["/v1/chat/completions", "/trpc/auth.me"])(
    "is the last of its connection, as proxies may find its end elsewhere: %s",
    async (path) => {
      using connection = await openRaw(service.baseUrl);
      const head = `POST ${path} HTTP/1.0\r\nhost: x\r\nconnection: keep-alive\r\ncontent-type: application/json\r\n`;
      connection.send(`${head}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${HEALTH}`);
      const received = await connection.closed;
      expect(received.match(/HTTP\/1\.1 \d+/g)).toHaveLength(1);
      expect(received).not.toContain('"ok"');
    },
  );
});

describe.skipIf(RUNTIME === "deno")("requests whose bodies arrive after their answers", () => {
  it("leave nothing behind on their connection, however many they are", async () => {
    const { hostname, port } = new URL(service.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    const head = "HEAD /v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n";
    socket.write(head);
    let answers = 0;
    let last = "";
    // So many functions, each of which calls the next, are more than a stack holds.
    for await (const piece of socket) {
      answers += piece.includes("\r\n\r\n") ? 1 : 0;
      last = String(piece);
      if (answers < 15_000) socket.write(`x${head}`);
      else if (answers === 15_000)
        socket.write(`x${HEALTH.replace("host: x", "host: x\r\nconnection: close")}`);
    }
    expect(last).toMatch(/"ok"\}$/);
    expect((await fetch(`${service.baseUrl}/healthz`)).status).toBe(200);
  }, 60_000);

  describe.each(["/trpc/auth.signIn", "/v1/chat/completions"])("%s", (path) => {
    const BODY = Buffer.alloc(16 * MIB);
    const REFUSED = path.startsWith("/v1") ? 401 : 413;
    const head = (connection: string) =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n`;

    it("are read and dropped, so that the connection serves the next request", async () => {
      using connection = await openRaw(service.baseUrl);
      connection.send(head("keep-alive"));
      connection.send(BODY.subarray(MIB));
      expect((await connection.answer()).status).toBe(REFUSED);
      // A client on a slow line.
      await setTimeout(700);
      connection.send(BODY.subarray(0, MIB));
      connection.send(HEALTH);
      expect((await connection.answer()).status).toBe(200);
    });

    it("can be sent whole by a client that does not read before", async () => {
      const { hostname, port } = new URL(service.baseUrl);
      const socket = connect(Number(port), hostname);
      socket.pause();
      socket.on("error", () => {});
      socket.write(head("close"));
      expect(
        await new Promise((resolve) => socket.write(BODY, (error) => resolve(error ?? null))),
      ).toBeNull();
      let received = "";
      for await (const chunk of socket) received += chunk;
      expect(received).toContain(`HTTP/1.1 ${REFUSED}`);
    });
  });
});

describe("a request that asks for another protocol", () => {
  const UPGRADE = "connection: Upgrade\r\nupgrade: websocket\r\n";
  const upgrades = [
    ["a page's", `GET /healthz HTTP/1.1\r\nhost: x\r\n${UPGRADE}\r\n`],
    ["one without a key", `GET /v1/models HTTP/1.1\r\nhost: x\r\n${UPGRADE}\r\n`],
    ["one with a body", `POST /v1/models HTTP/1.1\r\nhost: x\r\n${UPGRADE}content-length: 2\r\n\r\n{}`],
    [
      "one with a body in chunks",
      `POST /v1/models HTTP/1.1\r\nhost: x\r\n${UPGRADE}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ],
  ] as const;

  // Deno closes the connection of a request whose body was not read.
  const kept = upgrades.filter(([, text]) => RUNTIME === "node" || text.startsWith("GET"));

  it.each(kept)("is answered as if it did not, and keeps its connection: %s", async (_, upgrade) => {
    using connection = await openRaw(service.baseUrl);
    connection.send(upgrade);
    expect((await connection.answer()).status).not.toBe(101);
    connection.send(HEALTH);
    expect((await connection.answer()).body).toBe('{"status":"ok"}');
  });

  // Node drops what came in the same piece. So the client must see that the connection has ended.
  it.each(upgrades)(
    "does not leave a request that comes behind it without an answer on an open connection: %s",
    async (_, upgrade) => {
      for (const before of ["", HEALTH]) {
        using connection = await openRaw(service.baseUrl);
        connection.send(`${before}${upgrade}${HEALTH}`);
        if (before !== "") await connection.answer();
        expect((await connection.answer()).status).not.toBe(101);
        const ended = connection.closed.then(() => "closed");
        const answered = connection.answer().then(({ body }) => body);
        expect(["closed", '{"status":"ok"}']).toContain(await Promise.race([ended, answered]));
        await Promise.allSettled([answered]);
      }
    },
  );
});

describe("requests that are sent without awaiting their answers", () => {
  it("are answered in their order", async () => {
    using connection = await openRaw(service.baseUrl);
    connection.send(`${slowRequest(300)}${HEALTH}`.repeat(3));
    for (let pair = 0; pair < 3; pair++) {
      expect((await connection.answer()).body).toContain("chat.completion");
      expect((await connection.answer()).body).toBe('{"status":"ok"}');
    }
  });

  it("are answered to the last one when there are a hundred", async () => {
    using connection = await openRaw(service.baseUrl);
    connection.send(HEALTH.repeat(100));
    for (let asked = 0; asked < 100; asked++) expect((await connection.answer()).status).toBe(200);
    connection.send(HEALTH);
    expect((await connection.answer()).status).toBe(200);
  });

  it("are handled one at a time, so that a stranger has no more refusals waiting than connections", async () => {
    using first = await openRaw(service.baseUrl);
    // More than an address may call in a minute, so that all others are refused, each some time after the one before.
    for (let call = 0; call < 301; call++) {
      first.send(CALL);
      await first.answer();
    }
    const before = await refusedCalls();
    using others = await openRaw(service.baseUrl);
    others.send(CALL.repeat(90));
    await others.answer();
    expect((await refusedCalls()) - before).toBeLessThan(20);
  });

  it.skipIf(RUNTIME === "deno")("end the connection when thousands of them wait", async () => {
    using connection = await openRaw(service.baseUrl);
    connection.send(slowRequest(2_000) + HEALTH.repeat(2_000));
    expect(await connection.closed).toBe("");
    using another = await openRaw(service.baseUrl);
    another.send(HEALTH);
    expect((await another.answer()).status).toBe(200);
  });

  // Deno reads on: https://github.com/denoland/deno/pull/36869
  it.skipIf(RUNTIME === "deno")("are not read while several wait", async () => {
    const { hostname, port } = new URL(service.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    await once(socket, "connect");
    const large = slowRequest(3_000).replace("host: x", `host: x\r\na: ${"a".repeat(12_000)}`);
    socket.write(large.repeat(Math.ceil((64 * MIB) / large.length)));
    await setTimeout(1_500);
    // What the system keeps of it.
    expect(socket.bytesWritten - socket.writableLength).toBeLessThan(24 * MIB);
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });
});
