import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createRawServer, type LookupFunction } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RequestAbort } from "../../server/src/errors/request-signal.ts";
import { sharedLookup } from "../../server/src/networks/shared-lookup.ts";
import { UndiciTransport } from "../../server/src/upstream/http/undici-transport.ts";

let server: Server;

beforeAll(async () => {
  server = createServer(({ url }, response) => {
    if (url !== "/?kept") response.setHeader("connection", "close");
    response.end("{}");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});

afterAll(async () => {
  server.closeAllConnections();
  await once(server.close(), "close");
});

const TIMEOUTS = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 };

/** Sends a request, and reads its answer to the end. */
async function ask(transport: UndiciTransport, url: string, body: Uint8Array | null = null): Promise<number> {
  const signal = new RequestAbort();
  const method = body === null ? "GET" : "POST";
  const response = await transport.send({ url, method, headers: [], body, signal, timeouts: TIMEOUTS });
  for await (const _ of response.body);
  return response.status;
}

/** An error of the system's resolver. */
const failure = (code: string) => Object.assign(new Error(code), { code, syscall: "getaddrinfo" });

type Answer = (error?: NodeJS.ErrnoException) => void;

/** A resolver that answers when the test says so, with the address of the server or an error, and a transport that uses it. */
function slowResolver(knownAfterMs?: number) {
  const asked: string[] = [];
  const answers: Answer[] = [];
  const lookUp: LookupFunction = (hostname, _, callback) => {
    asked.push(hostname);
    answers.push((error) => {
      if (error === undefined) callback(null, [{ address: "127.0.0.1", family: 4 }]);
      else callback(error, []);
    });
  };
  const transport = new UndiciTransport({ lookup: sharedLookup(lookUp, knownAfterMs) });
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    /** Answers the look-ups that have begun. */
    answer: async (error?: NodeJS.ErrnoException) => {
      await expect.poll(() => answers.length).toBeGreaterThan(0);
      for (const answer of answers.splice(0)) answer(error);
    },
    send: (host: string) => ask(transport, `http://${host}:${port}/`),
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

describe("an upstream whose name server does not answer", () => {
  it("takes one look-up, however many requests there are, so that others can be made", async () => {
    await using resolver = slowResolver();
    const requests = Array.from({ length: 50 }, () => resolver.send("slow.example"));
    const other = resolver.send("other.example");
    await expect.poll(() => resolver.asked).toEqual(["slow.example", "other.example"]);
    await resolver.answer();
    expect(new Set(await Promise.all([other, ...requests]))).toEqual(new Set([200]));
  });

  it("fails all requests that wait, and is asked for again by the next", async () => {
    await using resolver = slowResolver();
    const requests = Array.from({ length: 5 }, () =>
      resolver.send("slow.example").catch(({ fault }) => fault),
    );
    await resolver.answer(failure("EAI_AGAIN"));
    expect(new Set(await Promise.all(requests))).toEqual(new Set(["connect"]));
    const next = resolver.send("slow.example");
    await resolver.answer();
    expect(await next).toBe(200);
    expect(resolver.asked).toEqual(["slow.example", "slow.example"]);
  });

  it("is reached at the addresses that were found before", async () => {
    await using resolver = slowResolver(10);
    const first = resolver.send("slow.example");
    await resolver.answer();
    expect(await first).toBe(200);
    const waiting = [resolver.send("slow.example"), resolver.send("slow.example")];
    expect(await Promise.all(waiting)).toEqual([200, 200]);
    expect(resolver.asked).toEqual(["slow.example", "slow.example"]);
  });

  it("or fails, is reached at the addresses that were found before, unless the host is gone", async () => {
    await using resolver = slowResolver(60_000);
    const first = resolver.send("slow.example");
    await resolver.answer();
    expect(await first).toBe(200);
    const again = resolver.send("slow.example");
    await resolver.answer(failure("EAI_AGAIN"));
    expect(await again).toBe(200);
    const gone = resolver.send("slow.example");
    await Promise.all([
      resolver.answer(failure("ENOTFOUND")),
      expect(gone).rejects.toMatchObject({ fault: "connect" }),
    ]);
  });
});

describe("a body of any size", () => {
  it("arrives whole, with its length, and its connection stays open", async () => {
    const received: (readonly [declared: string | undefined, bytes: number])[] = [];
    let closed = 0;
    const counting = createServer(async (incoming, response) => {
      incoming.socket.once("close", () => closed++);
      let bytes = 0;
      for await (const part of incoming) bytes += part.length;
      received.push([incoming.headers["content-length"], bytes]);
      response.end("{}");
    });
    await once(counting.listen(0, "127.0.0.1"), "listening");
    const transport = new UndiciTransport();
    const url = `http://127.0.0.1:${(counting.address() as AddressInfo).port}/`;
    const sizes = [1, 32 * 1024, 32 * 1024 + 1, 5_000_000, 2];
    for (const size of sizes) expect(await ask(transport, url, new Uint8Array(size))).toBe(200);
    expect(received).toEqual(sizes.map((size) => [String(size), size]));
    expect(closed).toBe(0);
    await transport.close();
    await once(counting.close(), "close");
  });

  it("may be refused before it has arrived", async () => {
    let end = () => {};
    const refusing = createRawServer((socket) => {
      socket.on("error", () => {});
      // It reads no further than the head.
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\n{}");
        end = () => void socket.destroy();
      });
    });
    await once(refusing.listen(0, "127.0.0.1"), "listening");
    const transport = new UndiciTransport();
    const url = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/`;
    expect(await ask(transport, url, new Uint8Array(20_000_000))).toBe(413);
    await transport.close();
    end();
    await once(refusing.close(), "close");
  });
});

describe("an upstream that sends without end what is no part of an answer", () => {
  it("is cut off", async () => {
    const flooding = createRawServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        const more = (error?: Error | null) =>
          void (socket.writable && error == null && socket.write("a".repeat(16_384), more));
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;a=", more);
      });
    });
    await once(flooding.listen(0, "127.0.0.1"), "listening");
    const transport = new UndiciTransport({ maxReceivedBytes: 1024 * 1024 });
    const { port } = flooding.address() as AddressInfo;
    await expect(ask(transport, `http://127.0.0.1:${port}/`)).rejects.toMatchObject({ fault: "cut" });
    await transport.close();
    await once(flooding.close(), "close");
  });

  it("is counted from zero for each request of a connection", async () => {
    const { port } = server.address() as AddressInfo;
    const transport = new UndiciTransport({ maxReceivedBytes: 300 });
    for (const _ of [1, 2, 3, 4]) expect(await ask(transport, `http://127.0.0.1:${port}/?kept`)).toBe(200);
    await transport.close();
  });
});
