import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, Ostiary } from "../../sdk/src/client.ts";
import {
  APIConnectionError,
  APIUserAbortError,
  ContentTooLargeError,
  OstiaryError,
} from "../../sdk/src/core/errors.ts";
import { caught, deferred } from "./fake-service.ts";
import { loopback } from "./loopback.ts";

const MODEL = JSON.stringify({ id: "m", object: "model" });
const ownFetch = globalThis.fetch;

afterEach(() => {
  globalThis.fetch = ownFetch;
  vi.unstubAllGlobals();
});

/** `fetch` sends a header that `node:http` does not send. */
async function seenBy(ask: (baseURL: string) => Promise<unknown>): Promise<"fetch" | "http"> {
  let mode: unknown;
  await using server = await loopback((request, response) => {
    mode = request.headers["sec-fetch-mode"];
    response.setHeader("content-type", "application/json").end(MODEL);
  });
  await ask(server.url);
  return mode === undefined ? "http" : "fetch";
}

const retrieve = (baseURL: string, options: ClientOptions = {}) =>
  new Ostiary({ apiKey: "sk-x", baseURL, ...options }).models.retrieve("m");

describe("requests on Node", () => {
  it("use its HTTP client", async () => {
    expect(await seenBy(retrieve)).toBe("http");
  });

  it("use the `fetch` that was given, or that replaced Node's own", async () => {
    expect(await seenBy((url) => retrieve(url, { fetch: ownFetch }))).toBe("fetch");
    let calls = 0;
    globalThis.fetch = (...given) => {
      calls++;
      return ownFetch(...given);
    };
    expect(await seenBy(retrieve)).toBe("fetch");
    expect(calls).toBe(1);
  });

  it("use `fetch` in a worker of Cloudflare's, which has Node's modules, too", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    expect(await seenBy(retrieve)).toBe("fetch");
  });

  it("use `fetch` when options of it are given, by the client or the request", async () => {
    expect(await seenBy((url) => retrieve(url, { fetchOptions: { cache: "no-store" } }))).toBe("fetch");
    let dispatched = 0;
    class CountingAgent extends Agent {
      override dispatch(...details: Parameters<Agent["dispatch"]>): boolean {
        dispatched++;
        return super.dispatch(...details);
      }
    }
    const dispatcher = new CountingAgent();
    const client = (url: string) => new Ostiary({ apiKey: "sk-x", baseURL: url });
    expect(await seenBy((url) => client(url).models.retrieve("m", { fetchOptions: { dispatcher } }))).toBe(
      "fetch",
    );
    expect(dispatched).toBe(1);
    await dispatcher.close();
  });

  it("use the global dispatcher of `fetch`, such as a proxy", async () => {
    class OwnAgent extends Agent {}
    const before = getGlobalDispatcher();
    const own = new OwnAgent();
    setGlobalDispatcher(own);
    try {
      expect(await seenBy(retrieve)).toBe("fetch");
    } finally {
      setGlobalDispatcher(before);
      await own.close();
    }
  });

  it("keep their connection alive", async () => {
    await using server = await loopback((_, response) => {
      response.setHeader("content-type", "application/json").end(MODEL);
    });
    for (let count = 0; count < 5; count++) await retrieve(server.url);
    expect(server.connections()).toBe(1);
  });

  it("ask for answers without compression, which Node's client does not undo", async () => {
    await using server = await loopback((request, response) => {
      response.setHeader("x-request-id", String(request.headers["accept-encoding"]));
      response.end('{"object":"list","data":[]}');
    });
    const defaultHeaders = { "Accept-Encoding": "br" };
    const client = new Ostiary({ apiKey: "sk-test", baseURL: server.url, defaultHeaders });
    const { requestId } = await client.models.list({ headers: { "accept-encoding": "gzip" } }).withResponse();
    expect(requestId).toBe("identity");
  });

  it("have the whole of an answer that arrives in pieces, even when characters are divided", async () => {
    const owner = "ä€😀".repeat(50_000);
    const bytes = Buffer.from(JSON.stringify({ id: "m", owned_by: owner }));
    await using server = await loopback((_, response) => {
      response.setHeader("content-type", "application/json");
      for (let at = 0; at < bytes.length; at += 9_973) response.write(bytes.subarray(at, at + 9_973));
      response.end();
    });
    expect((await retrieve(server.url)).owned_by).toBe(owner);
  });

  it("return a standard response on request", async () => {
    await using server = await loopback((_, response) => {
      response.writeHead(200, [
        ["content-type", "application/json"],
        ["x-request-id", "req_1"],
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
      ]);
      response.end(MODEL);
    });
    const { data, response, requestId } = await retrieve(server.url).withResponse();
    expect([data.id, requestId, response.status]).toEqual(["m", "req_1", 200]);
    const raw = await retrieve(server.url).asResponse();
    expect(raw).toBeInstanceOf(Response);
    expect(raw.url).toBe(`${server.url}/v1/models/m`);
    expect(raw.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    const copy = raw.clone();
    expect(await raw.json()).toEqual(await copy.json());
  });

  describe.each([
    ["its HTTP client", undefined],
    ["`fetch`", ownFetch],
  ])("by %s", (_, fetch) => {
    const events = 'data: {"choices":[]}\n\ndata: {"choices":[]}\n\ndata: [DONE]\n\n';
    const serving = () =>
      loopback(({ url = "" }, response) => {
        if (url.endsWith("/chat/completions")) response.end(events);
        else response.setHeader("content-type", "application/json").end(MODEL);
      });
    const client = (baseURL: string) => new Ostiary({ apiKey: "sk-x", baseURL, maxRetries: 0, fetch });
    const stream = (baseURL: string) =>
      client(baseURL).chat.completions.create({ model: "m", messages: [], stream: true });

    it("have the response of a stream before, while and after its chunks are read", async () => {
      await using server = await serving();
      const asked = stream(server.url);
      const { data, response } = await asked.withResponse();
      let chunks = 0;
      for await (const _ of data) {
        chunks++;
        expect((await asked.withResponse()).response).toBe(response);
      }
      expect((await asked.withResponse()).response).toBe(response);
      expect([chunks, response.status, response.bodyUsed]).toEqual([2, 200, true]);
      const iterated = stream(server.url);
      for await (const _ of iterated) expect((await iterated.withResponse()).response.status).toBe(200);
      expect((await iterated.withResponse()).response.status).toBe(200);
    });

    it("have one response, however often it is asked for", async () => {
      await using server = await serving();
      const asked = client(server.url).models.retrieve("m");
      const [one, other] = await Promise.all([asked.withResponse(), asked.withResponse()]);
      expect([one.response, one.data]).toEqual([other.response, other.data]);
      const raw = client(server.url).models.retrieve("m");
      const [first, second] = await Promise.all([raw.asResponse(), raw.asResponse()]);
      expect(first).toBe(second);
      expect(await first.text()).toBe(MODEL);
    });

    it("refuse to read the body twice, and do not wait for it", async () => {
      await using server = await serving();
      const taken = client(server.url).models.retrieve("m");
      expect(await (await taken.asResponse()).text()).toBe(MODEL);
      const read = client(server.url).models.retrieve("m");
      await read;
      for (const again of [taken, taken.withResponse(), read.asResponse()]) {
        const error = await caught(again);
        expect(error).toMatchObject({ name: "OstiaryError", message: expect.stringMatching(/only once/) });
      }
    });
  });

  it("end at once when they are aborted", async () => {
    const leaving = new AbortController();
    let close: () => void = () => {};
    const closed = new Promise<void>((resolve) => {
      close = resolve;
    });
    await using server = await loopback((request) => {
      request.socket.once("close", close);
      leaving.abort();
    });
    const client = new Ostiary({ apiKey: "sk-x", baseURL: server.url });
    const asked = client.models.retrieve("never", { signal: leaving.signal });
    await expect(asked).rejects.toBeInstanceOf(APIUserAbortError);
    await closed;
  });

  it("throw when they were reset, or their answer was", async () => {
    const server = createServer((request, response) => {
      if (request.url?.endsWith("/cut")) {
        response.writeHead(200, { "content-length": "100" });
        response.write("{", () => request.socket.destroy());
      } else request.socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const client = new Ostiary({ apiKey: "sk-x", baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 });
    await expect(client.models.retrieve("reset")).rejects.toBeInstanceOf(APIConnectionError);
    await expect(client.models.retrieve("cut")).rejects.toThrow("interrupted");
    await new Promise((resolve) => server.close(resolve));
    await expect(client.models.retrieve("gone")).rejects.toBeInstanceOf(APIConnectionError);
  });

  it("end with the answer when it comes before the whole body was sent, and the connection is then closed", async () => {
    let leave: () => void = () => {};
    await using server = await loopback(({ socket }) => {
      leave = () => socket.destroy();
      socket.pause().end("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n");
    });
    let connection: Socket | undefined;
    const note = (message: unknown) => {
      connection = (message as { readonly socket: Socket }).socket;
    };
    subscribe("net.client.socket", note);
    const client = new Ostiary({ apiKey: "sk-x", baseURL: server.url, maxRetries: 0 });
    const asked = client.post("/large", { body: "a".repeat(30_000_000) });
    await expect(asked).rejects.toBeInstanceOf(ContentTooLargeError);
    unsubscribe("net.client.socket", note);
    // Not by `once` of node:events, which listens for errors too.
    const closed = new Promise<void>((resolve) => connection?.once("close", resolve));
    leave();
    // Without a listener, the error of writing the rest would end the process here.
    await closed;
    expect(connection?.errored).toHaveProperty("syscall");
  });

  it("free the connection of an answer that nobody reads", async () => {
    await using server = await loopback((_, response) => {
      response.setHeader("content-type", "application/json").end(MODEL);
    });
    const client = new Ostiary({ apiKey: "sk-x", baseURL: server.url });
    for (let count = 0; count < 3; count++) {
      const answered = new Promise((resolve) => client.on("response", resolve));
      void client.models.retrieve("m");
      await answered;
      // The body of a short answer arrives with its headers.
      await setImmediate();
    }
    expect(server.connections()).toBe(1);
  });

  it("have a response although the reason of its status has a control character", async () => {
    await using server = await loopback(({ socket }) => {
      socket.end(`HTTP/1.1 200 O\x01K\r\ncontent-length: ${MODEL.length}\r\n\r\n${MODEL}`);
    });
    const { response } = await retrieve(server.url).withResponse();
    expect(response.statusText).toBe("OK");
  });

  it("throw when the answer switches to another protocol, which they did not ask for", async () => {
    await using server = await loopback((request) => {
      request.socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n");
    });
    const asked = retrieve(server.url, { maxRetries: 0, timeout: 10_000 });
    await expect(asked).rejects.toMatchObject({
      name: "APIConnectionError",
      cause: { message: "the connection was closed without an answer" },
    });
  });

  it("throw an error whose body is endless, and then end it", async () => {
    const left = deferred<string>();
    await using server = await loopback((_, response) => {
      response.on("close", () => left.resolve("left"));
      response.writeHead(413);
      let mebibytes = 0;
      const write = () => {
        if (mebibytes++ === 64) left.resolve("read");
        else response.write(new Uint8Array(1_048_576), () => write());
      };
      write();
    });
    await expect(retrieve(server.url)).rejects.toThrow(ContentTooLargeError);
    expect(await left.promise).toBe("left");
  });

  it("are refused with an invalid header, whose value is not revealed", async () => {
    const headers = { "x-secret": "line\nbreak" };
    const make = () => new Ostiary({ apiKey: "sk-x", defaultHeaders: headers });
    expect(make).toThrow(OstiaryError);
    expect(make).not.toThrow("break");
    await expect(new Ostiary({ apiKey: "sk-x" }).models.retrieve("m", { headers })).rejects.toThrow("header");
  });
});
