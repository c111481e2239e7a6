import { writeCatalog } from "../fixtures/catalog.ts";
import { type ReceivedRequest, startModelServer } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { messageIn } from "./messages-events.ts";

export type Answer = (request: ReceivedRequest) => void;

const WITHOUT_CREDIT = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrentRequests: null,
  startingCreditsUsd: 0,
};
const PLANS = JSON.stringify({ free: WITHOUT_CREDIT, pro: WITHOUT_CREDIT, enterprise: WITHOUT_CREDIT });

export const CREDENTIAL = "credential-of-the-operator";

/** A service with a model of an upstream that has only chat completions, and one of Anthropic's Messages API. */
export async function startMessagesService() {
  const answers: { chat: Answer; native: Answer } = { chat: () => {}, native: () => {} };
  const chat = await startModelServer((request) => answers.chat(request));
  const native = await startModelServer((request) => answers.native(request));
  const timeouts = { firstByteMs: 60_000, idleMs: 60_000 };
  const breaker = { failures: 1_000 };
  const catalog = await writeCatalog({
    upstreams: {
      chat: { dialect: "openai", baseUrl: chat.baseUrl, credentialEnv: "CREDENTIAL", timeouts, breaker },
      other: { dialect: "openai", baseUrl: chat.baseUrl, credentialEnv: "CREDENTIAL", timeouts, breaker },
      native: {
        dialect: "anthropic",
        baseUrl: native.baseUrl,
        credentialEnv: "CREDENTIAL",
        timeouts,
        breaker,
      },
    },
    models: [
      { id: "acme/chat", aliases: ["claude-acme"], routes: [{ upstream: "chat", model: "inner" }] },
      { id: "acme/other", routes: [{ upstream: "other", model: "inner" }] },
      // The service remembers by model what an upstream refuses.
      { id: "acme/thinking", routes: [{ upstream: "chat", model: "thinking" }] },
      { id: "acme/strict", routes: [{ upstream: "chat", model: "strict" }] },
      { id: "acme/short", maxOutputTokens: 50, routes: [{ upstream: "chat", model: "inner" }] },
      { id: "acme/native", routes: [{ upstream: "native", model: "claude-inner" }] },
      { id: "acme/other-native", routes: [{ upstream: "native", model: "mimo-inner" }] },
      {
        id: "acme/priced",
        contextTokens: 100_000,
        maxOutputTokens: 8_192,
        prices: { inputUsdPerMTok: "1", outputUsdPerMTok: "10" },
        routes: [{ upstream: "native", model: "claude-inner" }],
      },
    ],
  });
  const service = await startOperatedService({
    env: { OSTIARY_CATALOG: catalog.file, OSTIARY_PLANS: PLANS, CREDENTIAL, OSTIARY_LOG: "silent" },
  });
  const operator = await signInOperator(service.baseUrl);
  const owner = await signUpWithKey(service.baseUrl);

  /** Sends a request of the Messages API; `headers` may replace the key. */
  function post(
    body: unknown,
    headers: Record<string, string> = {},
    path = "/v1/messages",
  ): Promise<Response> {
    return fetch(service.baseUrl + path, {
      method: "POST",
      headers: {
        "x-api-key": owner.key,
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  return {
    service,
    owner,
    operator,
    async grant(usd: number) {
      const { id } = await owner.trpc.account.get.query();
      const amountNanoUsd = BigInt(Math.round(usd * 1_000_000_000));
      await operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd, reason: "test" });
    },
    answers,
    chat,
    native,
    post,
    /** Asks for a stream, and has its message. */
    streamed: async (body: object) => messageIn(await (await post({ ...body, stream: true })).text()),
    /** What the upstream with chat completions received last. */
    // biome-ignore lint/suspicious/noExplicitAny: a wire format, compared with what it should be
    sent: (): any => chat.received.at(-1)?.body,
    async lastEntry() {
      return (await owner.trpc.audit.list.query({ limit: 1 })).entries[0];
    },
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
      await chat[Symbol.asyncDispose]();
      await native[Symbol.asyncDispose]();
    },
  };
}

export const HI = { model: "acme/chat", max_tokens: 100, messages: [{ role: "user", content: "hi" }] };

export const TOOL = {
  name: "weather",
  description: "The weather somewhere",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

/** A block with an image. */
export function image(data = "iVBORw0KGgo=") {
  return { type: "image", source: { type: "base64", media_type: "image/png", data } };
}

/** Answers with chunks of chat completions. */
export function chatStream(...deltas: readonly (readonly [object, string?])[]): Answer {
  return ({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    for (const [delta, finish = null] of deltas) {
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "inner", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
      );
    }
    const usage = {
      prompt_tokens: 50,
      completion_tokens: 9,
      total_tokens: 59,
      prompt_tokens_details: { cached_tokens: 20 },
    };
    response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  };
}

/** Answers with a whole chat completion. */
export function chatWhole(message: object, finish = "stop", more: object = {}): Answer {
  return ({ response }) => {
    response.setHeader("content-type", "application/json").end(
      JSON.stringify({
        id: "c",
        object: "chat.completion",
        created: 1,
        model: "inner",
        choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish, ...more }],
        usage: { prompt_tokens: 50, completion_tokens: 9, total_tokens: 59 },
      }),
    );
  };
}

export const NATIVE_USAGE = {
  input_tokens: 10,
  cache_creation_input_tokens: 200,
  cache_read_input_tokens: 3_000,
  cache_creation: { ephemeral_5m_input_tokens: 50, ephemeral_1h_input_tokens: 150 },
  output_tokens: 7,
};

export const NATIVE_MESSAGE = {
  id: "msg_01",
  type: "message",
  role: "assistant",
  model: "claude-inner",
  content: [{ type: "text", text: "Hello" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: NATIVE_USAGE,
  some_new_field: { kept: [1.0, "1e2"] },
};

export function frames(...events: readonly object[]): string {
  return events
    .map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}

export const NATIVE_START = {
  type: "message_start",
  message: {
    ...NATIVE_MESSAGE,
    content: [],
    stop_reason: null,
    usage: { ...NATIVE_USAGE, output_tokens: 1 },
  },
};
export const NATIVE_TEXT = [
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
  { type: "content_block_stop", index: 0 },
];
export const NATIVE_END = [
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 7 },
  },
  { type: "message_stop" },
];

/** Answers with the text of a stream. */
export function nativeStream(text: string): Answer {
  return ({ response }) => void response.setHeader("content-type", "text/event-stream").end(text);
}

/** A piece of a call in a chunk of a chat completion. */
export const callPiece = (index: number, piece: object) => ({ tool_calls: [{ index, ...piece }] });

/** The model's message with a call `a`, and the result of the call. */
export const afterCall = (content: readonly object[]) => [
  { role: "assistant", content },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "sunny" }] },
];
