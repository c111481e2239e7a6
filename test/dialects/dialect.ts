import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll } from "vitest";
import { DEFAULT_BREAKER, type Upstream } from "../../server/src/catalog/catalog.ts";
import { Credential } from "../../server/src/catalog/credential.ts";
import type { Conversation } from "../../server/src/conversation/conversation.ts";
import { signatureSealer } from "../../server/src/conversation/sealed-signature.ts";
import { answerThrough } from "../../server/src/gateway/answer-through.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { SEAL_KEY_BYTES, Sealer } from "../../server/src/secrets/sealer.ts";
import type { TextTally } from "../../server/src/tokens/text-tally.ts";
import { TokenEstimator } from "../../server/src/tokens/token-estimate.ts";
import type { WireAnswer } from "../../server/src/upstream/dialect.ts";
import { DIALECTS, openDialects } from "../../server/src/upstream/dialects.ts";
import { chatRequest } from "../../server/src/wire/chat/chat-request.ts";
import { messagesRequest } from "../../server/src/wire/messages/messages-request.ts";
import { responsesRequest } from "../../server/src/wire/responses/responses-request.ts";
import { FetchTransport } from "../fixtures/fetch-transport.ts";

/** What was sent to a vendor's address. */
export interface Sent {
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a vendor's wire format, compared with what it should be
  readonly body: any;
}

/** A vendor's side of an exchange: whatever is sent to the address, and what comes back. */
export interface Vendor {
  readonly sent: Sent[];
  /** Answers the next request. */
  answers(status: number, body: object, options?: { readonly once: boolean }): void;
  /** Answers the next request, and only that. */
  answersOnce(status: number, body: object): void;
  /** Answers each request by its body. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  answersBy(respond: (body: any) => Response): void;
  /** Answers with server-sent events, as they stand and piece by piece. */
  streams(...pieces: readonly string[]): void;
  /** Answers the next request with server-sent events, and only that. */
  streamsOnce(events: string): void;
}

/** Replays exchanges at a vendor's addresses, for the tests of a file. */
export function replayVendor(address: string | RegExp): Vendor {
  const server = setupServer();
  const sent: Sent[] = [];
  beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
  afterEach(() => {
    server.resetHandlers();
    sent.length = 0;
  });
  afterAll(() => server.close());
  const answerWith = (respond: (body: Sent["body"]) => Response, once = false) => {
    server.use(
      http.post(
        address,
        async ({ request }) => {
          const body = await request.json();
          sent.push({ headers: request.headers, body });
          return respond(body);
        },
        { once },
      ),
    );
  };
  return {
    sent,
    answers: (status, body, { once } = { once: false }) =>
      answerWith(() => HttpResponse.json(body, { status }), once),
    answersOnce: (status, body) => answerWith(() => HttpResponse.json(body, { status }), true),
    answersBy: (respond) => answerWith(respond),
    streams: (...pieces) => answerWith(() => eventStream(pieces)),
    streamsOnce: (events) => answerWith(() => eventStream([events]), true),
  };
}

function eventStream(pieces: readonly string[]): Response {
  const left = pieces.map((piece) => new TextEncoder().encode(piece));
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const piece = left.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  });
  return new HttpResponse(body, { headers: { "content-type": "text/event-stream" } });
}

export const CREDENTIAL = "the-operators-credential";

export function upstreamOf(dialect: string, settings: Partial<Upstream> = {}): Upstream {
  return {
    name: dialect,
    dialect,
    settings: {},
    isSandbox: false,
    baseUrl: "",
    credential: new Credential(CREDENTIAL),
    timeouts: { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 60_000 },
    maxConcurrency: 1,
    breaker: DEFAULT_BREAKER,
    ...settings,
  };
}

/** The time that the dialects see pass. */
export const clock = { ms: 0 };

const dialects = openDialects(DIALECTS, {
  transport: new FetchTransport(),
  now: () => new Date(1_000_000),
  monotonicMs: () => clock.ms,
});

export interface ChatOptions {
  readonly includeUsage?: boolean;
  /** The maximum tokens that are paid for. */
  readonly maxTokens?: number | null;
  /** The limit that the service adds to the request. */
  readonly ownLimit?: number | null;
}

/** The body of a request, and whether it asks for a stream. */
function sentOf(request: object): { readonly body: JsonBody; readonly stream: boolean } {
  const body = JsonBody.parse(JSON.stringify({ model: "acme/chat", ...request }));
  if (body === null) throw new Error("no object");
  return { body, stream: "stream" in request && request.stream === true };
}

/** Has an upstream answer a request. `id`: the one that the gateway gives to the answer. */
function answerOf(
  upstream: Upstream,
  model: string,
  request: Parameters<typeof answerThrough>[2],
  id = "0",
): Promise<WireAnswer> {
  const dialect = dialects.get(upstream.dialect);
  if (dialect === undefined) throw new Error(`no dialect ${upstream.dialect}`);
  const { signal } = new AbortController();
  const call = { upstream, upstreamModel: model, publicModel: "acme/chat", signal };
  return answerThrough(dialect, call, request, () => ({
    id,
    created: 1_000,
    now: () => 1_002,
    model: "acme/chat",
  }));
}

/** Sends an OpenAI request to an upstream, and has OpenAI's answer. */
export async function chat(
  upstream: Upstream,
  model: string,
  request: object,
  { includeUsage = true, maxTokens = null, ownLimit = null }: ChatOptions = {},
): Promise<WireAnswer> {
  const { body, stream } = sentOf(request);
  return answerOf(upstream, model, {
    request: chatRequest(body, { stream, includeUsage, ownLimit, signatures }),
    maxTokens,
    estimate: (produced) => estimator.usageOf({}, produced),
  });
}

const signatures = signatureSealer(new Sealer([new Uint8Array(SEAL_KEY_BYTES)]), "test");

/** Sends a request of the Responses API to an upstream, and has its answer. */
export async function respond(upstream: Upstream, model: string, request: object): Promise<WireAnswer> {
  const { body, stream } = sentOf(request);
  const asked = responsesRequest(body, {
    stream,
    isStored: false,
    previousResponseId: null,
    firstOwn: 0,
    signatures,
  });
  const estimate = () => Promise.reject(new Error("the upstream tells its usage"));
  return answerOf(upstream, model, { request: asked, maxTokens: null, estimate }, "0".repeat(32));
}

/** Estimates one token for each character. */
export const estimator = new TokenEstimator(async (texts) => texts.join("").length);

/** Sends a request of the Messages API to an upstream, and has its answer. */
export async function messages(
  upstream: Upstream,
  model: string,
  request: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<WireAnswer> {
  const { body, stream } = sentOf(request);
  const asked = messagesRequest(body, {
    stream,
    maxOutputTokens: null,
    headers,
    query: "",
    signatures,
    estimator,
  });
  const estimate = (produced: TextTally) => estimator.usageOf({}, produced);
  return answerOf(upstream, model, { request: asked, maxTokens: null, estimate });
}

/** Sends a conversation to an upstream. */
export async function converse(upstream: Upstream, model: string, conversation: Conversation): Promise<void> {
  const { signal } = new AbortController();
  await dialects.get(upstream.dialect)?.converse({
    upstream,
    upstreamModel: model,
    publicModel: "acme/chat",
    signal,
    conversation,
    stream: false,
    maxTokens: null,
  });
}

/** The text of a whole stream. */
export async function streamText(answer: Promise<WireAnswer>): Promise<string> {
  const begun = await answer;
  if (begun.kind !== "stream") throw new Error("not a stream");
  let text = "";
  for await (const piece of begun.events) text += piece;
  return text + begun.last(begun.usage() ?? { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }, {});
}

// biome-ignore lint/suspicious/noExplicitAny: an answer, compared with what it should be
export async function whole(answer: Promise<WireAnswer>): Promise<any> {
  const { kind, ...rest } = await answer;
  if (kind !== "whole" || !("body" in rest)) throw new Error("not whole");
  return JSON.parse(rest.body);
}

// biome-ignore lint/suspicious/noExplicitAny: chunks, compared with what they should be
export async function chunks(answer: Promise<WireAnswer>): Promise<any[]> {
  const begun = await answer;
  if (begun.kind !== "stream") throw new Error("not a stream");
  const found = [];
  for await (const text of begun.events) {
    for (const event of text.split("\n\n")) {
      if (event !== "") found.push(JSON.parse(event.slice("data: ".length)));
    }
  }
  return found;
}

/** What a client makes of a stream: the message that its deltas add up to. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function messageOf(found: readonly any[]) {
  let content = "";
  let reasoning = "";
  const calls: { id: string; name: string; arguments: string; extra?: unknown }[] = [];
  let finish: string | null = null;
  for (const { choices } of found) {
    for (const { delta, finish_reason: reason } of choices) {
      content += delta.content ?? "";
      reasoning += delta.reasoning_content ?? "";
      finish = reason ?? finish;
      for (const call of delta.tool_calls ?? []) {
        const known: (typeof calls)[number] = calls[call.index] ?? {
          id: call.id,
          name: call.function.name,
          arguments: "",
        };
        calls[call.index] = known;
        known.arguments += call.function?.arguments ?? "";
        if (call.extra_content !== undefined) known.extra = call.extra_content;
      }
    }
  }
  return { content, reasoning, calls, finish, usage: found.at(-1)?.usage };
}

export const WEATHER_TOOL = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather somewhere",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

/** A conversation with everything in it. */
export const CONVERSATION = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
    ],
  },
  {
    role: "assistant",
    content: "Let me look.",
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
      { id: "call_2", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
    ],
  },
  { role: "tool", tool_call_id: "call_1", content: "sunny" },
  { role: "tool", tool_call_id: "call_2", content: [{ type: "text", text: "rain" }] },
  { role: "user", content: "So?" },
];

/** What no vendor but OpenAI's own format can be told; each with the field that the refusal names. */
export const INEXPRESSIBLE: readonly (readonly [object, string])[] = [
  [{ n: 2 }, "n"],
  [{ top_logprobs: 3 }, "top_logprobs"],
  [{ logit_bias: { 50256: -100 } }, "logit_bias"],
  [{ modalities: ["text", "audio"] }, "modalities"],
  [{ audio: { voice: "alloy", format: "wav" } }, "audio"],
  [{ prediction: { type: "content", content: "x" } }, "prediction"],
  [{ service_tier: "flex" }, "service_tier"],
  [{ functions: [{ name: "f" }] }, "functions"],
  [{ web_search_options: {} }, "web_search_options"],
  [{ some_vendors_field: 1 }, "some_vendors_field"],
  [{ repetition_penalty: 1.1 }, "repetition_penalty"],
  [{ min_p: 0.1 }, "min_p"],
  [{ transforms: ["middle-out"] }, "transforms"],
  [{ plugins: [{ id: "web" }] }, "plugins"],
  [{ usage: { include: true, by: "user" } }, "usage"],
  [{ tools: [{ type: "web_search" }] }, "tools.0"],
  [{ reasoning_effort: "enormous" }, "reasoning_effort"],
  [{ tool_choice: "required" }, "tool_choice"],
  [JSON.parse('{"__proto__":1}'), "__proto__"],
  [{ hasOwnProperty: "n" }, "hasOwnProperty"],
  [
    { messages: [{ role: "assistant", function_call: { name: "f", arguments: "{}" } }] },
    "messages.0.function_call",
  ],
  [{ messages: [{ role: "assistant", audio: { id: "a" } }] }, "messages.0.audio"],
  [
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "ftp://x/y" } }] }] },
    "messages.0.content.0.image_url.url",
  ],
  [
    { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file-1" } }] }] },
    "messages.0.content.0.file.file_id",
  ],
  [{ messages: [{ role: "tool", tool_call_id: "nobody", content: "x" }] }, "messages.0.tool_call_id"],
  [{ messages: [{ role: "function", name: "f", content: "x" }] }, "messages.0.role"],
];

/** What asks for nothing special, or says nothing about the answer: passes everywhere. */
export const NEUTRAL: readonly object[] = [
  { n: 1 },
  { presence_penalty: 0, frequency_penalty: 0 },
  { logprobs: false, top_logprobs: null, logit_bias: {} },
  { temperature: null, max_tokens: null, tools: null, stop: null, response_format: null },
  { top_p: 1, temperature: 0.2 },
  // Of clients of OpenRouter, such as LiteLLM, and of chat applications that send the settings of every server.
  { usage: { include: true }, transforms: [], plugins: [] },
  { repetition_penalty: 1, min_p: 0, top_a: 0 },
  { session_id: "s", trace: { trace_id: "t" } },
  {
    safe_prompt: false,
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Yes?", prefix: false },
      { role: "user", content: "So?" },
    ],
  },
  { user: "u-1", metadata: { a: "b" }, store: false, safety_identifier: "s" },
  {
    prompt_cache_key: "k",
    prompt_cache_options: { mode: "explicit", ttl: "1h" },
    prompt_cache_retention: "24h",
  },
  {
    service_tier: "auto",
    modalities: ["text"],
    parallel_tool_calls: true,
    response_format: { type: "text" },
  },
];
