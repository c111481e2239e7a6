import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { freePort } from "../fixtures/free-port.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { chunkOf, type ReceivedRequest, startModelServer } from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { stopAtOnce } from "../fixtures/stop-at-once.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const CHAT = "POST /v1/chat/completions";
const WORDS = "word ".repeat(2_000);
/** Requests for more answers than the system keeps for a client that reads nothing, so long that only some are read at once. */
const manyFor = (path: string) =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nx-padding: ${"x".repeat(1_000)}\r\n\r\n`.repeat(300);

/** A connection on which something is sent, and nothing is read. */
async function openUnread(baseUrl: string, sent: string): Promise<Socket & Disposable> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).on("error", () => {});
  await once(socket, "connect");
  socket.write(sent);
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() });
}

function post(path: string, body: string, headers = "", bytes = body.length): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${headers}content-length: ${bytes}\r\n\r\n${body}`;
}

const authorization = (key: string) => `authorization: Bearer ${key}\r\n`;

const STREAM = JSON.stringify({
  model: "acme/chat",
  messages: [{ role: "user", content: "hi" }],
  stream: true,
});

/** A service in front of a model that answers as a test says. */
async function startBehind(answer: (request: ReceivedRequest) => void, env: Record<string, string>) {
  const upstream = await startModelServer(answer);
  const catalog = await writeCatalog({
    upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl } },
    models: [
      {
        id: "acme/chat",
        prices: { inputUsdPerMTok: "0.01", outputUsdPerMTok: "0.01" },
        routes: [{ upstream: "main", model: "inner" }],
      },
    ],
  });
  const service = await startService({ env: { ...env, OSTIARY_CATALOG: catalog.file } });
  return {
    service,
    upstream,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}

/** A service in front of a model whose answers do not end. */
async function startEndless(env: Record<string, string>) {
  let chunks = 0;
  const behind = await startBehind(({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    const fill = () => {
      while (!response.destroyed && response.write(chunkOf({ content: WORDS }))) chunks++;
    };
    response.on("drain", fill);
    fill();
  }, env);
  return {
    ...behind,
    /** Resolves when an answer has begun and waits for its reader. */
    untilStuck: async () => {
      let before = 0;
      const isStuck = () => {
        const isSame = chunks > 0 && chunks === before;
        before = chunks;
        return isSame;
      };
      await expect.poll(isStuck, { interval: 500, timeout: 30_000 }).toBe(true);
    },
  };
}

/** Starts a service on what another one has left. */
function startAfter({ dataDir, databaseUrl }: Service): Promise<Service> {
  return startService({ dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) });
}

/** The newest entry of an operation with a key. */
async function entryOf({ baseUrl }: Service, key: string, operation = CHAT) {
  const response = await fetch(`${baseUrl}/v1/audit`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await response.json()) as { readonly data: readonly Record<string, unknown>[] };
  return data.find(({ endpoint }) => endpoint === operation);
}

const UNREAD = {
  status: 200,
  end_reason: "client_gone",
  usage_source: "estimated",
  cost_nano_usd: expect.toSatisfy((cost) => cost > 0),
};

describe("a client that does not read its stream", () => {
  it("counts as disconnected after a time, and its upstream is left", { timeout: 120_000 }, async () => {
    await using endless = await startEndless({});
    const { service, upstream } = endless;
    const { key } = await signUpWithKey(service.baseUrl);
    using _client = await openUnread(
      service.baseUrl,
      post("/v1/chat/completions", STREAM, authorization(key)),
    );
    await endless.untilStuck();
    await upstream.received[0]?.dropped;
    await expect.poll(() => entryOf(service, key)).toMatchObject(UNREAD);
  });

  it.each([
    ["a service", "0", (service: Service) => service.stop()],
    ["one that is told so twice", "3600", stopAtOnce],
  ])("does not keep %s from stopping, and is charged", async (_, drainS, stop) => {
    await using endless = await startEndless({ OSTIARY_DRAIN_S: drainS });
    const { service } = endless;
    const { key } = await signUpWithKey(service.baseUrl);
    using _client = await openUnread(
      service.baseUrl,
      post("/v1/chat/completions", STREAM, authorization(key)),
    );
    await endless.untilStuck();
    expect(await stop(service)).toBe(0);
    await using next = await startAfter(service);
    expect(await entryOf(next, key)).toMatchObject(UNREAD);
  });
});

describe("a service that is told to stop", () => {
  it("is not kept from it by bodies that do not end, nor by answers that are not read", async () => {
    await using service = await startService({ env: { OSTIARY_DRAIN_S: "0" } });
    const { baseUrl } = service;
    const { key } = await signUpWithKey(baseUrl);
    using _body = await openUnread(baseUrl, post("/v1/chat/completions", "{", authorization(key), 1_000));
    using _call = await openUnread(baseUrl, post("/trpc/auth.signIn", "{", "", 1_000));
    using _pages = await openUnread(baseUrl, manyFor("/docs"));
    await expect.poll(() => metricOf(baseUrl, "ostiary_request_body_bytes")).toBe(2_000);
    expect(await service.stop()).toBe(0);
    await using next = await startAfter(service);
    // On Deno bodies break off as soon as the listener closes: https://github.com/denoland/deno/issues/36809
    expect(await entryOf(next, key)).toMatchObject({ status: 499, end_reason: "client_gone" });
  });

  it("lets a client that reads slowly have the rest of its answer", async () => {
    await using service = await startService();
    const { baseUrl } = service;
    const { key } = await signUpWithKey(baseUrl);
    const input = Array.from({ length: 2_048 }, (_, index) => `text ${index}`);
    const body = JSON.stringify({ model: "sandbox/embedding", dimensions: 1_024, input });
    using client = await openUnread(baseUrl, post("/v1/embeddings", body, authorization(key)));
    const isAnswered = async () => (await entryOf(service, key, "POST /v1/embeddings")) !== undefined;
    await expect.poll(isAnswered, { timeout: 30_000 }).toBe(true);
    const exited = service.stop();
    await expect.poll(() => fetch(`${baseUrl}/healthz`).catch(() => "gone")).toBe("gone");
    const answer = await text(client);
    const begin = answer.indexOf("\r\n\r\n") + 4;
    const length = Number(/^content-length: (\d+)/im.exec(answer.slice(0, begin))?.[1]);
    expect(answer.length - begin).toBe(length);
    expect(await exited).toBe(0);
  });

  it("lets streams end while the answers of its port for metrics are not read", async () => {
    let finish = () => {};
    const metricsPort = await freePort();
    await using behind = await startBehind(
      ({ response }) => {
        response.setHeader("content-type", "text/event-stream").write(chunkOf({ content: "half" }));
        finish = () => response.end(`${chunkOf({}, "stop")}data: [DONE]\n\n`);
      },
      { OSTIARY_METRICS_PORT: String(metricsPort) },
    );
    const { service } = behind;
    const { key } = await signUpWithKey(service.baseUrl);
    using _metrics = await openUnread(`http://127.0.0.1:${metricsPort}`, manyFor("/metrics"));
    const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: STREAM,
    });
    const exited = service.stop();
    await expect.poll(() => fetch(`${service.baseUrl}/healthz`).catch(() => "gone")).toBe("gone");
    finish();
    expect(await response.text()).toContain("[DONE]");
    expect(await exited).toBe(0);
  });
});
