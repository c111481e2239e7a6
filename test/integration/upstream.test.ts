import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  answerWhole,
  chunkOf,
  type ModelServer,
  type ReceivedRequest,
  startModelServer,
} from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const CREDENTIAL = "upstream-credential-of-the-operator";
let answer: (request: ReceivedRequest) => void = answerWhole;
let upstream: ModelServer;
let spare: ModelServer;
let service: Service;
let folder: string;
let owner: Awaited<ReturnType<typeof signUpWithKey>>;

beforeAll(async () => {
  upstream = await startModelServer((request) => answer(request));
  spare = await startModelServer((request) => answerWhole(request, "from the spare"));
  folder = await mkdtemp(join(tmpdir(), "ostiary-catalog-"));
  const catalog = join(folder, "catalog.yaml");
  await writeFile(
    catalog,
    `
upstreams:
  main: { dialect: openai, baseUrl: "${upstream.baseUrl}", credentialEnv: MAIN_CREDENTIAL, timeouts: { firstByteMs: 1000, idleMs: 1000 }, breaker: { failures: 1000 } }
  spare: { dialect: openai, baseUrl: "${spare.baseUrl}" }
  gone: { dialect: openai, baseUrl: "http://127.0.0.1:9/v1" }
  nowhere: { dialect: openai, baseUrl: "http://255.255.255.255:9/v1" }
  endless: { dialect: openai, baseUrl: "${upstream.baseUrl}", timeouts: { totalMs: 1000 } }
models:
  - id: acme/chat
    aliases: [chat]
    ownedBy: acme
    contextTokens: 8192
    prices: { inputUsdPerMTok: "2.50", outputUsdPerMTok: 10 }
    routes: [{ upstream: main, model: inner }]
  - id: acme/unreachable
    routes: [{ upstream: gone, model: inner }]
  - id: acme/nowhere
    routes: [{ upstream: nowhere, model: inner }]
  - id: acme/endless
    routes: [{ upstream: endless, model: inner }]
  - id: acme/two-routes
    routes: [{ upstream: gone, model: inner, weight: 1000 }, { upstream: spare, model: inner }]
`,
  );
  service = await startService({ env: { OSTIARY_CATALOG: catalog, MAIN_CREDENTIAL: ` ${CREDENTIAL}\n` } });
  owner = await signUpWithKey(service.baseUrl);
});

afterEach(() => {
  answer = answerWhole;
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
  await spare?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function chat(fields: object, signal?: AbortSignal, idempotencyKey?: string): Promise<Response> {
  return fetch(`${service.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${owner.key}`,
      "content-type": "application/json",
      "x-secret-of-the-client": "not for upstreams",
      cookie: "a=b",
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify({ model: "acme/chat", messages: [{ role: "user", content: "hi" }], ...fields }),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function lastEntry() {
  return (await owner.trpc.audit.list.query({ limit: 1 })).entries[0];
}

describe("an OpenAI-compatible upstream of the catalog", () => {
  it("gets the request with its own model name and credential, and none of the client's headers", async () => {
    const response = await chat({ vendor_option: { a: [1] }, temperature: 0.5 });
    expect(response.status).toBe(200);
    const received = upstream.received.at(-1);
    expect(received?.path).toBe("/v1/chat/completions");
    expect(received?.body).toEqual({
      model: "inner",
      messages: [{ role: "user", content: "hi" }],
      vendor_option: { a: [1] },
      temperature: 0.5,
    });
    expect(received?.headers.authorization).toBe(`Bearer ${CREDENTIAL}`);
    expect(received?.headers.cookie).toBeUndefined();
    expect(JSON.stringify(received?.headers)).not.toContain("not for upstreams");
  });

  it("answers under the catalog's name with its other fields kept, and is charged by the catalog's prices", async () => {
    const answered = await (await chat({ model: "chat" })).json();
    expect(answered).toMatchObject({ model: "acme/chat", vendor_extra: { kept: true } });
    // 1,000 tokens at 2.50 USD and 200 at 10 USD a million.
    expect(await lastEntry()).toMatchObject({
      model: "acme/chat",
      upstream: "main",
      promptTokens: 1_000,
      completionTokens: 200,
      costNanoUsd: 4_500_000n,
    });
  });

  it("is asked for usage on every stream, and clients see it only on request", async () => {
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(`: a comment\r\n\r\n${chunkOf({ role: "assistant", content: "höl" })}`);
      response.write(`${chunkOf({ content: "a" })}${chunkOf({}, "stop")}`);
      response.write(`data: {"id":"1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n`);
      response.end("data: [DONE]\n\n");
    };
    const text = await (await chat({ stream: true })).text();
    expect(upstream.received.at(-1)?.body.stream_options).toEqual({ include_usage: true });
    expect(text).not.toContain("usage");
    expect(text).toContain('"model":"acme/chat"');
    expect(text).toContain("höl");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(await lastEntry()).toMatchObject({ tokenCount: 5, usageSource: "upstream", endReason: "stop" });
  });

  it("is not asked for usage again if it refuses that, as Mistral's does, which tells it unasked", async () => {
    const refusal = {
      detail: [
        { type: "extra_forbidden", loc: ["body", "stream_options", "include_usage"], msg: "Extra inputs" },
      ],
    };
    const usage = { prompt_tokens: 3, completion_tokens: 2 };
    answer = ({ body, response }) => {
      if (body.stream_options !== undefined) {
        response.writeHead(422, { "content-type": "application/json" });
        response.end(JSON.stringify({ object: "error", message: refusal, type: "invalid_request_error" }));
        return;
      }
      response.setHeader("content-type", "text/event-stream");
      const last = { choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }], usage };
      response.end(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`);
    };
    const asked = { model: "acme/endless", stream: true };
    const before = upstream.received.length;
    expect(await (await chat(asked)).text()).not.toContain("usage");
    expect(await lastEntry()).toMatchObject({ tokenCount: 5, usageSource: "upstream" });
    expect(upstream.received).toHaveLength(before + 2);
    const told = await chat({ ...asked, stream_options: { include_usage: true } });
    expect(await told.text()).toContain('"usage":{"prompt_tokens":3');
    expect(upstream.received).toHaveLength(before + 3);
    // The same upstream through another wire.
    const streamed = await fetch(`${service.baseUrl}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": owner.key, "content-type": "application/json" },
      body: JSON.stringify({ ...asked, max_tokens: 9, messages: [{ role: "user", content: "hi" }] }),
    });
    expect(await streamed.text()).toContain("message_stop");
    expect(upstream.received).toHaveLength(before + 4);
  });

  it("is asked for usage even if an account has options that it refuses", async () => {
    answer = ({ body, response }) => {
      const options = (body.stream_options ?? {}) as { include_usage?: boolean };
      if ("made_up" in options) {
        response.writeHead(400, { "content-type": "application/json" });
        response.end('{"error":{"message":"Unknown parameter: stream_options.made_up"}}');
        return;
      }
      response.setHeader("content-type", "text/event-stream");
      response.end(`${chunkOf({ content: "a" }, "stop")}data: [DONE]\n\n`);
    };
    const refused = await chat({ stream: true, stream_options: { made_up: 1 } });
    expect(refused.status).toBe(400);
    await (await chat({ stream: true })).text();
    expect(upstream.received.at(-1)?.body.stream_options).toEqual({ include_usage: true });
  });

  it.each([
    `{"prompt_tokens":-5,"completion_tokens":1e300}`,
    `{"prompt_tokens":1.5,"completion_tokens":2}`,
    `{"prompt_tokens":"7","completion_tokens":2}`,
    `{"prompt_tokens":5000000000,"completion_tokens":2}`,
    `{"completion_tokens":2}`,
    "null",
    "[]",
  ])("has its usage checked: instead of %s an estimate is charged, and marked so", async (usage) => {
    answer = ({ response }) => {
      response.setHeader("content-type", "application/json");
      response.end(`{"choices":[{"message":{"content":"hello there"}}],"usage":${usage}}`);
    };
    expect((await chat({})).status).toBe(200);
    const entry = await lastEntry();
    expect(entry).toMatchObject({ usageSource: "estimated", completionTokens: 2, cachedTokens: 0 });
    expect(entry?.promptTokens).toBeGreaterThan(2);
    expect(entry?.promptTokens).toBeLessThan(10);
    expect(entry?.costNanoUsd).toBe(BigInt(entry?.promptTokens ?? 0) * 2_500n + 2n * 10_000n);
  });

  it("without usage has a client that asks for it told the estimate that is charged", async () => {
    answer = ({ response }) => {
      response.setHeader("content-type", "application/json");
      response.end(`{"choices":[{"message":{"content":"hello there"}}]}`);
    };
    const charged = async () => {
      const { promptTokens, completionTokens } = (await lastEntry()) ?? {};
      return { prompt_tokens: promptTokens, completion_tokens: completionTokens };
    };
    const { usage } = await (await chat({})).json();
    expect(usage).toMatchObject(await charged());
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.end(`${chunkOf({ content: "hello there" })}${chunkOf({}, "stop")}data: [DONE]\n\n`);
    };
    const events = (await (await chat({ stream: true, stream_options: { include_usage: true } })).text())
      .split("\n\n")
      .map((event) => event.slice("data: ".length));
    expect(events.slice(-2)).toEqual(["[DONE]", ""]);
    const [first, last] = [events[0], events.at(-3)].map((event = "") => JSON.parse(event));
    expect(last).toMatchObject({
      object: "chat.completion.chunk",
      id: first.id,
      created: first.created,
      model: first.model,
      choices: [],
      usage: await charged(),
    });
    expect(await (await chat({ stream: true })).text()).not.toContain("usage");
  });

  it("without usage on a stream has it estimated from what was sent until the stream ended or the client left", async () => {
    const words = "the quick brown fox jumps over the lazy dog ".repeat(10);
    const tokensOfWords = 90;
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: words }));
      response.write(chunkOf({ content: words }));
      response.end(`${chunkOf({}, "stop")}data: [DONE]\n\n`);
    };
    await (await chat({ stream: true })).text();
    const whole = await lastEntry();
    expect(whole).toMatchObject({ usageSource: "estimated", endReason: "stop" });
    expect(Math.abs((whole?.completionTokens ?? 0) - 2 * tokensOfWords)).toBeLessThan(5);

    const abort = new AbortController();
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: words }));
    };
    const response = await chat({ stream: true }, abort.signal);
    await response.body?.getReader().read();
    abort.abort();
    await expect.poll(lastEntry).toMatchObject({ usageSource: "estimated", endReason: "client_gone" });
    const cut = await lastEntry();
    expect(Math.abs((cut?.completionTokens ?? 0) - tokensOfWords)).toBeLessThan(5);
    expect(cut?.costNanoUsd).toBeGreaterThan(0n);
  });

  it("whose usage has the tokens of the prompt alone is charged for its text", async () => {
    const choices = [{ index: 0, message: { role: "assistant", content: "one two" }, finish_reason: "stop" }];
    for (const usage of [{ prompt_tokens: 3 }, { prompt_tokens: 3, completion_tokens: null }]) {
      answer = ({ response }) => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ choices, usage }));
      };
      await (await chat({})).text();
      expect(await lastEntry()).toMatchObject({ usageSource: "estimated", completionTokens: 2 });
    }
  });

  it("without usage is estimated in bounded time, whatever was sent", async () => {
    answer = ({ response }) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ choices: [{ message: { content: "a".repeat(3_000_000) } }] }));
    };
    const hostile = ["a".repeat(1_000_000), "字".repeat(500_000), "<|endoftext|>".repeat(50_000)];
    for (const content of hostile) {
      const response = await chat({ messages: [{ role: "user", content }] });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
      const entry = await lastEntry();
      expect(entry).toMatchObject({ usageSource: "estimated" });
      // Only the beginning was counted, and taken for the whole.
      expect(entry?.completionTokens).toBeGreaterThan(300_000);
      expect(entry?.promptTokens).toBeGreaterThan(100_000);
    }
  });

  const refusals: readonly (readonly [number, object, number, string])[] = [
    [400, { error: { message: "temperature is too hot", param: "temperature" } }, 400, "invalid_request"],
    [
      400,
      { error: { message: "too long", code: "context_length_exceeded" } },
      400,
      "context_length_exceeded",
    ],
    [401, { error: { message: `bad key ${CREDENTIAL}` } }, 502, "upstream_error"],
    [403, { error: { message: `no access for ${CREDENTIAL}` } }, 502, "upstream_error"],
    [404, { error: { message: "no model inner" } }, 502, "upstream_error"],
    [429, { error: { message: "slow down" } }, 503, "server_is_overloaded"],
    [500, { error: { message: "stack trace" } }, 502, "upstream_error"],
    [302, {}, 502, "upstream_error"],
  ];

  it.each(refusals)(
    "that answers %i %j makes the service answer %i %s",
    async (status, body, expected, code) => {
      answer = ({ response }) => {
        response.writeHead(status, {
          "content-type": "application/json",
          location: "http://127.0.0.1:9/",
          "retry-after": "7",
        });
        response.end(JSON.stringify(body));
      };
      const response = await chat({});
      expect(response.status).toBe(expected);
      const text = await response.text();
      expect(JSON.parse(text).error.code).toBe(code);
      expect(text).not.toContain(CREDENTIAL);
      if (expected === 503) expect(response.headers.get("retry-after")).toBe("7");
      expect(await lastEntry()).toMatchObject({ status: expected, errorCode: code, upstream: "main" });
    },
  );

  it.each([
    ["in one piece", (bytes: Buffer) => [bytes]],
    ["byte by byte", (bytes: Buffer) => Array.from(bytes, (byte) => Uint8Array.of(byte))],
  ])("may send interim answers that nobody asked for, %s", async (_, piecesOf) => {
    const interim =
      "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 \r\n\r\n";
    answer = async (request) => {
      for (const piece of piecesOf(Buffer.from(interim))) {
        request.response.socket?.write(piece);
        await setImmediate();
      }
      answerWhole(request, "after the hints");
    };
    const asked = upstream.received.length;
    for (const _ of [1, 2]) {
      const { choices } = await (await chat({})).json();
      expect(choices[0].message.content).toBe("after the hints");
    }
    expect(upstream.received).toHaveLength(asked + 2);
  });

  it("that hangs causes a timeout", async () => {
    answer = () => {};
    const response = await chat({});
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({ error: { code: "upstream_timeout" } });
    expect(await lastEntry()).toMatchObject({ endReason: "timeout" });
  });

  it.each([
    ["events", chunkOf({ content: "more" })],
    ["comments", ": still here\n\n"],
  ])(
    "that never ends its answer is left after a time, also when the client has left: %s",
    async (_, more) => {
      answer = ({ response, dropped }) => {
        response.setHeader("content-type", "text/event-stream");
        response.write(chunkOf({ content: "so far" }));
        const timer = setInterval(() => response.write(more), 50);
        void dropped.then(() => clearInterval(timer));
      };
      const text = await (await chat({ model: "acme/endless", stream: true })).text();
      expect(text).toContain("so far");
      const last = text.trim().split("\n\n").at(-1) ?? "";
      expect(JSON.parse(last.slice("data: ".length))).toMatchObject({ error: { code: "upstream_timeout" } });
      expect(await lastEntry()).toMatchObject({ status: 200, endReason: "timeout" });

      // A request with an idempotency key runs to completion without its client.
      const abort = new AbortController();
      const left = await chat({ model: "acme/endless", stream: true }, abort.signal, crypto.randomUUID());
      await left.body?.getReader().read();
      abort.abort();
      await upstream.received.at(-1)?.dropped;
      await expect.poll(lastEntry).toMatchObject({ status: 200, endReason: "client_gone" });
    },
  );

  it("that never ends an answer that is not streamed causes a timeout", async () => {
    answer = ({ response, dropped }) => {
      response.setHeader("content-type", "application/json");
      const timer = setInterval(() => response.write(" "), 50);
      void dropped.then(() => clearInterval(timer));
    };
    const response = await chat({ model: "acme/endless" });
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({ error: { code: "upstream_timeout" } });
  });

  it("that sends a malformed answer causes a 502", async () => {
    answer = ({ response }) => response.end("<html>");
    expect((await chat({})).status).toBe(502);
  });

  it("that breaks off a stream ends it with an error event", async () => {
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "so far" }), () => response.destroy());
    };
    const text = await (await chat({ stream: true })).text();
    expect(text).toContain("so far");
    expect(text).not.toContain("[DONE]");
    const last = text.trim().split("\n\n").at(-1) ?? "";
    expect(JSON.parse(last.slice("data: ".length))).toMatchObject({ error: { code: "upstream_error" } });
    expect(await lastEntry()).toMatchObject({ status: 200, endReason: "upstream_error" });
  });

  it("is disconnected at once when the client leaves", async () => {
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "first" }));
    };
    const abort = new AbortController();
    const response = await chat({ stream: true }, abort.signal);
    await response.body?.getReader().read();
    abort.abort();
    await upstream.received.at(-1)?.dropped;
    await expect.poll(lastEntry).toMatchObject({ endReason: "client_gone" });
  });

  it.each(["acme/unreachable", "acme/nowhere"])("that can't be reached causes a 502 (%s)", async (model) => {
    const response = await chat({ model });
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("The model's server can't be reached");
  });

  it("is replaced by the next route while nothing has reached the client", async () => {
    const answered = await (await chat({ model: "acme/two-routes" })).json();
    expect(answered.choices[0].message.content).toBe("from the spare");
    expect(await lastEntry()).toMatchObject({ upstream: "spare", status: 200 });
  });

  it("has its credential in nothing that the service prints", () => {
    expect(service.stdout() + service.stderr()).not.toContain(CREDENTIAL);
    expect(service.stdout() + service.stderr()).not.toContain(owner.key);
  });
});
