import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { type ModelServer, type ReceivedRequest, startModelServer } from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { eventsOf, type ResponseEvent } from "./response-stream.ts";

/** Of the upstream `chat`. */
export const CREDENTIAL = "credential-of-the-operator";
const PRICES = { inputUsdPerMTok: "2.50", outputUsdPerMTok: "10.00" };

/** A service with two upstreams: `acme/chat` knows chat completions only, `acme/native` the Responses API. */
export interface ResponsesService extends AsyncDisposable {
  readonly service: Service;
  readonly key: string;
  readonly chat: ModelServer;
  readonly native: ModelServer;
  /** What the upstreams answer the next requests with. */
  answers: { chat: (request: ReceivedRequest) => void; native: (request: ReceivedRequest) => void };
  /** Sends a request. */
  post(body: object, options?: { key?: string; headers?: Record<string, string> }): Promise<Response>;
  /** Asks `acme/chat`, and has the whole response. */
  ask(body: object): Promise<ResponseEvent>;
  /** Asks for a stream, and has its events. */
  stream(body: object): Promise<ResponseEvent[]>;
}

export async function startResponsesService(
  env: Readonly<Record<string, string>> = {},
): Promise<ResponsesService> {
  const unset = () => {
    throw new Error("the test has set no answer");
  };
  const answers: ResponsesService["answers"] = { chat: unset, native: unset };
  const chat = await startModelServer((request) => answers.chat(request));
  const native = await startModelServer((request) => answers.native(request));
  // Tests let upstreams fail again and again.
  const breaker = { failures: 1_000 };
  const catalog: CatalogFile = await writeCatalog({
    upstreams: {
      chat: { dialect: "openai", baseUrl: chat.baseUrl, credentialEnv: "CREDENTIAL", breaker },
      native: { dialect: "openai-responses", baseUrl: native.baseUrl, breaker },
    },
    models: [
      { id: "acme/chat", routes: [{ upstream: "chat", model: "inner" }], prices: PRICES },
      { id: "acme/native", routes: [{ upstream: "native", model: "inner" }], prices: PRICES },
    ],
  });
  const service = await startService({ env: { OSTIARY_CATALOG: catalog.file, CREDENTIAL, ...env } });
  const { key } = await signUpWithKey(service.baseUrl);
  const post: ResponsesService["post"] = (body, options = {}) =>
    fetch(`${service.baseUrl}/v1/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${options.key ?? key}`,
        "content-type": "application/json",
        ...options.headers,
      },
      body: JSON.stringify({ model: "acme/chat", ...body }),
    });
  return {
    service,
    key,
    chat,
    native,
    answers,
    post,
    ask: async (body) => await (await post(body)).json(),
    stream: async (body) => eventsOf(await (await post({ stream: true, ...body })).text()),
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await chat[Symbol.asyncDispose]();
      await native[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}

/** A chunk of a chat upstream's stream. */
export function chunk(delta: object, finish: string | null = null, usage: object | null = null): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "inner",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(usage === null ? {} : { usage }),
  };
}

export const USAGE = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 10 },
};

/** Streams chat completion chunks. `end`: what follows them. */
export function streamsChunks(
  chunks: readonly object[],
  end: "done" | "cut" | "eof" = "done",
): (request: ReceivedRequest) => void {
  return ({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    const text = chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
    // The connection closes without the last chunk of the transfer encoding.
    if (end === "cut") response.write(text, () => response.socket?.destroySoon());
    else response.end(end === "done" ? `${text}data: [DONE]\n\n` : text);
  };
}

/** A chat completion with a message. */
export function answersMessage(message: object, finish = "stop"): (request: ReceivedRequest) => void {
  return ({ response }) => {
    const choices = [
      { index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: finish },
    ];
    const completion = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "inner", choices };
    response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ ...completion, usage: USAGE }));
  };
}

/** Streams events of the Responses API, as they stand. */
export function streamsEvents(events: readonly object[]): (request: ReceivedRequest) => void {
  return ({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    for (const event of events) {
      const { type } = event as { type: string };
      response.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  };
}

/** The last chat request's messages. */
// biome-ignore lint/suspicious/noExplicitAny: a wire format, compared with what it should be
export function sentTo(server: ModelServer): any {
  return server.received.at(-1)?.body;
}
