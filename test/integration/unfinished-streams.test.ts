import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { chunkOf, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

const WORDS = " word".repeat(28);
/** The tokens of {@link WORDS}. */
const COUNTED = 28;
const PATHS = ["chat/completions", "responses", "messages"];
const DIALECTS = ["openai", "anthropic", "google"] as const;
const EVERY_PAIR = DIALECTS.flatMap((dialect) => PATHS.map((path) => [dialect, path] as const));

/** The events of a stream that has sent {@link WORDS}, and reported so many tokens together with them or before. */
const BEGINNINGS = {
  openai: (prompt: number, completion: number) =>
    withUsage(chunkOf({ role: "assistant", content: WORDS }), {
      prompt_tokens: prompt,
      completion_tokens: completion,
      prompt_tokens_details: { cached_tokens: 40_000 },
    }),
  anthropic: (prompt: number, completion: number) => {
    const usage = {
      input_tokens: Math.max(prompt - 40_000, 0),
      cache_read_input_tokens: Math.min(prompt, 40_000),
      output_tokens: completion,
    };
    const block = { type: "text", text: "" };
    return eventsOf(
      { type: "message_start", message: { id: "m", type: "message", model: "inner", content: [], usage } },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: WORDS } },
    );
  },
  google: (prompt: number, completion: number) =>
    eventsOf({
      candidates: [{ index: 0, content: { role: "model", parts: [{ text: WORDS }] } }],
      usageMetadata: {
        promptTokenCount: prompt,
        candidatesTokenCount: completion,
        cachedContentTokenCount: 40_000,
      },
    }),
};

function eventsOf(...events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}

function withUsage(chunk: string, usage: object): string {
  return chunk.replace(/\}\n\n$/, `,"usage":${JSON.stringify(usage)}}\n\n`);
}

let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;
let owner: Owner & { readonly key: string };
/** What the upstreams send, and whether they then stay connected, break off or have ended. */
let answer: { readonly text: string; readonly after: "stays" | "breaks" | "ends" };

beforeAll(async () => {
  upstream = await startModelServer(({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    if (answer.after === "ends") response.end(answer.text);
    else response.write(answer.text, () => answer.after === "breaks" && response.socket?.destroySoon());
  });
  const { baseUrl } = upstream;
  const prices = { inputUsdPerMTok: "1", cachedInputUsdPerMTok: "0.1", outputUsdPerMTok: "10" };
  catalog = await writeCatalog({
    upstreams: Object.fromEntries(
      DIALECTS.map((dialect) => [dialect, { dialect, baseUrl, breaker: { failures: 1_000 } }]),
    ),
    models: DIALECTS.map((dialect) => ({
      id: `acme/${dialect}`,
      prices,
      routes: [{ upstream: dialect, model: "inner" }],
    })),
  });
  service = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
  owner = await signUpWithKey(service.baseUrl);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
});

/** The entry of a stream that is read to its end, or left by its client once the words have come if the upstream stays connected. */
async function entryOf(dialect: string, path: string, more: object = {}) {
  const left = new AbortController();
  const asked = path === "responses" ? { input: "hi" } : { messages: [{ role: "user", content: "hi" }] };
  const limit = path === "messages" ? { max_tokens: 1_000 } : {};
  const response = await fetch(`${service.baseUrl}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: `acme/${dialect}`, stream: true, ...asked, ...limit, ...more }),
    signal: left.signal,
  });
  expect(response.status).toBe(200);
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += new TextDecoder().decode(bytes);
    if (answer.after === "stays" && text.includes("word")) break;
  }
  left.abort();
  const requestId = response.headers.get("x-request-id");
  const found = async () =>
    (await owner.trpc.audit.list.query({ limit: 5 })).entries.find((one) => one.requestId === requestId);
  await expect.poll(found).toBeDefined();
  return await found();
}

describe.each(EVERY_PAIR)("a stream of %s as /v1/%s that does not reach its end", (dialect, path) => {
  it.each([
    ["stays", "client_gone"],
    ["breaks", "upstream_error"],
  ] as const)("is charged for the prompt that was reported, and the words: %s", async (after, endReason) => {
    answer = { text: BEGINNINGS[dialect](50_000, 1), after };
    expect(await entryOf(dialect, path)).toMatchObject({
      endReason,
      usageSource: "estimated",
      promptTokens: 50_000,
      cachedTokens: 40_000,
      completionTokens: COUNTED,
      costNanoUsd: 10_000n * 1_000n + 40_000n * 100n + BigInt(COUNTED) * 10_000n,
    });
  });

  it("is charged for as much of the answer as was reported, where that is more than its words", async () => {
    answer = { text: BEGINNINGS[dialect](50_000, 500), after: "stays" };
    expect(await entryOf(dialect, path)).toMatchObject({ promptTokens: 50_000, completionTokens: 500 });
  });

  it("has its prompt estimated where 0 stands for tokens that are not known yet", async () => {
    answer = { text: BEGINNINGS[dialect](0, 0), after: "stays" };
    const entry = await entryOf(dialect, path);
    expect(entry).toMatchObject({ cachedTokens: 0, completionTokens: COUNTED });
    expect(entry?.promptTokens).toBeGreaterThan(0);
    expect(entry?.promptTokens).toBeLessThan(20);
  });
});

describe("a stream of chat completions", () => {
  const usage = { prompt_tokens: 50_000, completion_tokens: 3 };
  const finished = withUsage(chunkOf({}, "stop"), usage);

  it.each([
    ["has reached its end", `${finished}data: [DONE]\n\n`, "ends", "stop"],
    ["ends without [DONE]", finished, "ends", "stop"],
    ["has finished when its client leaves", finished, "stays", "client_gone"],
  ] as const)("that %s is charged for exactly what was reported", async (_, end, after, endReason) => {
    answer = { text: chunkOf({ content: WORDS }) + end, after };
    expect(await entryOf("openai", "chat/completions")).toMatchObject({
      endReason,
      usageSource: "upstream",
      promptTokens: 50_000,
      completionTokens: 3,
    });
  });
});

describe("a stream whose usage has the tokens of the prompt alone", () => {
  it.each(PATHS)("is charged for the prompt that was reported, and the words: %s", async (path) => {
    const finished = withUsage(chunkOf({}, "stop"), { prompt_tokens: 50_000, completion_tokens: null });
    answer = { text: `${chunkOf({ content: WORDS })}${finished}data: [DONE]\n\n`, after: "ends" };
    expect(await entryOf("openai", path)).toMatchObject({
      endReason: "stop",
      usageSource: "estimated",
      promptTokens: 50_000,
      completionTokens: COUNTED,
    });
  });
});

describe("a stream whose usage is in the choice that has finished", () => {
  it.each(PATHS)("is charged for exactly what was reported: %s", async (path) => {
    const usage = JSON.stringify({ prompt_tokens: 50_000, completion_tokens: 3, cached_tokens: 40_000 });
    const finished = chunkOf({}, "stop").replace('"finish_reason"', `"usage":${usage},"finish_reason"`);
    answer = { text: `${chunkOf({ content: WORDS })}${finished}data: [DONE]\n\n`, after: "ends" };
    expect(await entryOf("openai", path)).toMatchObject({
      endReason: "stop",
      usageSource: "upstream",
      promptTokens: 50_000,
      cachedTokens: 40_000,
      completionTokens: 3,
    });
  });
});

describe("a stream of Anthropic whose end does not tell the answer's tokens", () => {
  it.each(PATHS)("is charged for the prompt that was reported, and the words: %s", async (path) => {
    const end = eventsOf(
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop" },
    );
    answer = { text: BEGINNINGS.anthropic(50_000, 1) + end, after: "ends" };
    expect(await entryOf("anthropic", path)).toMatchObject({
      endReason: "stop",
      promptTokens: 50_000,
      completionTokens: COUNTED,
    });
  });
});

/** The events that end a stream after {@link BEGINNINGS}, and report so many tokens. */
const ENDINGS = {
  openai: (prompt: number, completion: number) => {
    const usage = { prompt_tokens: prompt, completion_tokens: completion };
    return `${withUsage(chunkOf({}, "stop"), usage)}data: [DONE]\n\n`;
  },
  anthropic: (prompt: number, completion: number) =>
    eventsOf(
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn" },
        usage: {
          input_tokens: prompt,
          cache_read_input_tokens: 0,
          cache_creation: { ephemeral_1h_input_tokens: 0 },
          output_tokens: completion,
        },
      },
      { type: "message_stop" },
    ),
  google: (prompt: number, completion: number) =>
    eventsOf({
      candidates: [{ index: 0, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: prompt, candidatesTokenCount: completion },
    }),
};

describe.each(EVERY_PAIR)("a stream of %s as /v1/%s whose upstream reports 0 tokens", (dialect, path) => {
  it("of prompt and answer has both estimated", async () => {
    answer = { text: BEGINNINGS[dialect](0, 0) + ENDINGS[dialect](0, 0), after: "ends" };
    const entry = await entryOf(dialect, path);
    expect(entry).toMatchObject({
      endReason: "stop",
      usageSource: "estimated",
      completionTokens: COUNTED,
    });
    expect(entry?.promptTokens).toBeGreaterThan(0);
    expect(entry?.promptTokens).toBeLessThan(20);
    expect(entry?.costNanoUsd).toBe(BigInt(entry?.promptTokens ?? 0) * 1_000n + BigInt(COUNTED) * 10_000n);
  });

  it("of the answer has those of its words", async () => {
    answer = { text: BEGINNINGS[dialect](0, 0) + ENDINGS[dialect](50_000, 0), after: "ends" };
    expect(await entryOf(dialect, path)).toMatchObject({
      endReason: "stop",
      usageSource: "estimated",
      promptTokens: 50_000,
      completionTokens: COUNTED,
    });
  });
});

describe("a stream of Anthropic whose end reports 0 tokens of the prompt", () => {
  it.each(PATHS)("is charged for the prompt that its beginning has reported: %s", async (path) => {
    answer = { text: BEGINNINGS.anthropic(50_000, 1) + ENDINGS.anthropic(0, 7), after: "ends" };
    expect(await entryOf("anthropic", path)).toMatchObject({
      endReason: "stop",
      usageSource: "upstream",
      promptTokens: 50_000,
      cachedTokens: 40_000,
      completionTokens: 7,
    });
  });
});

describe("a stream of messages", () => {
  const deltaOf = (reason: string | null) =>
    eventsOf({ type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 3 } });
  const words = eventsOf({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: WORDS },
  });

  it.each([
    ["breaks off after a message_delta that does not end it", `${deltaOf(null)}${words}`, 2 * COUNTED],
    ["breaks off after the message_delta that ends it", deltaOf("end_turn"), 3],
  ])("that %s is charged for what it has used", async (_, rest, completionTokens) => {
    answer = { text: BEGINNINGS.anthropic(50_000, 1) + rest, after: "breaks" };
    expect(await entryOf("anthropic", "messages")).toMatchObject({
      endReason: "upstream_error",
      usageSource: completionTokens === 3 ? "upstream" : "estimated",
      promptTokens: 50_000,
      completionTokens,
    });
  });
});
