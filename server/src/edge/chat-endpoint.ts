import { chargeFor } from "../credits/price-request.ts";
import { inTime } from "../errors/deadline.ts";
import { type Gateway, type Routed, RoutesFailed } from "../gateway/gateway.ts";
import type { JsonBody } from "../gateway/json-body.ts";
import type { TextTally } from "../gateway/text-tally.ts";
import type { TokenEstimator } from "../gateway/token-estimate.ts";
import type { ChatAnswer, Usage } from "../upstream/dialect.ts";
import { type AskedChat, MAX_TOKENS_FIELDS, readChat } from "./chat-body.ts";
import {
  type Endpoint,
  type EndpointRequest,
  type EntryFacts,
  EVENT_STREAM_HEADERS,
  JSON_HEADERS,
  NO_FACTS,
  type Reply,
} from "./endpoint.ts";
import type { ResponseHeaders } from "./exchange.ts";
import { HEARTBEAT, HEARTBEAT_MS } from "./heartbeat.ts";
import { LAST_EVENT } from "./idempotent-reply.ts";
import { readJsonBody } from "./json-body.ts";
import { type ModelCalls, type PaidCall, paidTokens, upstreamFailure } from "./model-calls.ts";
import { exactPath } from "./routing.ts";

export interface ChatParts {
  readonly modelCalls: ModelCalls;
  readonly gateway: Gateway;
  /** Counts tokens where an upstream does not. */
  readonly estimator: TokenEstimator;
  readonly maxBodyBytes: number;
}

type ToldUsage = Pick<EntryFacts, "usage" | "usageSource">;

/** `POST /v1/chat/completions`. */
export class ChatEndpoint implements Endpoint {
  readonly method = "POST";
  readonly name = "POST /v1/chat/completions";
  readonly openedBy = "key";
  readonly match = exactPath("/v1/chat/completions");
  readonly #parts: ChatParts;

  constructor(parts: ChatParts) {
    this.#parts = parts;
  }

  async answer(request: EndpointRequest): Promise<Reply> {
    const read = await readJsonBody(request, this.#parts.maxBodyBytes, MAX_TOKENS_FIELDS);
    const { body } = read;
    const asked = readChat(body);
    return await this.#parts.modelCalls.answer(request, { endpoint: this.name, read, asked }, (call) =>
      this.#forward(request, withinBudget(body, call), asked, call),
    );
  }

  async #forward(
    request: EndpointRequest,
    body: JsonBody,
    { stream, includeUsage }: AskedChat,
    call: PaidCall,
  ): Promise<Reply> {
    const { gateway } = this.#parts;
    const { model } = call;
    const maxTokens = paidTokens(call);
    const { signal } = request;
    const answering = gateway.chat({ model, body, stream, includeUsage, maxTokens, signal });
    if (!stream) return await this.#reply(request, body, call, await answering);
    // A proxy on the way may take silence for death. What comes after is told in the stream.
    const routed = await inTime(HEARTBEAT_MS, answering);
    return routed === null
      ? this.#lateReply(request, body, call, answering)
      : await this.#reply(request, body, call, routed);
  }

  async #reply(
    request: EndpointRequest,
    body: JsonBody,
    call: PaidCall,
    { answer, upstream }: Routed<ChatAnswer>,
  ): Promise<Reply> {
    const firstTokenMs = request.elapsedMs();
    const factsOf = ({ usage, usageSource }: ToldUsage): EntryFacts => ({
      model: call.model.id,
      upstream,
      usage,
      usageSource,
      ...chargeFor(call.priced, usage),
      timeToFirstTokenMs: firstTokenMs,
    });
    if (answer.kind === "whole") {
      const facts = factsOf(told(answer.usage) ?? (await this.#estimated(body, answer.produced)));
      const headers = withIgnored(JSON_HEADERS, answer.ignored);
      return { kind: "whole", headers, body: answer.body, facts };
    }
    return {
      kind: "stream",
      headers: withIgnored(EVENT_STREAM_HEADERS, answer.ignored()),
      chunks: answer.events,
      lastChunk: LAST_EVENT,
      atFailure: "event",
      facts: async () => factsOf(told(answer.usage()) ?? (await this.#estimated(body, answer.produced))),
      failureOf: upstreamFailure,
    };
  }

  /** A stream that begins before the upstream has: whatever happens then is told in it. */
  #lateReply(
    request: EndpointRequest,
    body: JsonBody,
    call: PaidCall,
    answering: Promise<Routed<ChatAnswer>>,
  ): Reply {
    let facts = async (): Promise<EntryFacts> => ({ ...NO_FACTS, model: call.model.id });
    const noted = (thrown: unknown): never => {
      const upstream = thrown instanceof RoutesFailed ? thrown.upstream : null;
      facts = async () => ({ ...NO_FACTS, model: call.model.id, upstream });
      throw thrown;
    };
    // Told in the stream, if anybody is left to be told.
    answering.catch(() => {});
    const chunks = async function* (reply: (routed: Routed<ChatAnswer>) => Promise<Reply>) {
      yield HEARTBEAT;
      const late = await reply(await answering.catch(noted));
      if (late.kind !== "stream") throw new Error("a stream was asked for");
      facts = late.facts;
      yield* late.chunks;
    };
    return {
      kind: "stream",
      headers: EVENT_STREAM_HEADERS,
      chunks: chunks((routed) => this.#reply(request, body, call, routed)),
      lastChunk: LAST_EVENT,
      atFailure: "event",
      facts: () => facts(),
      failureOf: upstreamFailure,
    };
  }

  async #estimated(body: JsonBody, produced: () => TextTally): Promise<ToldUsage> {
    const usage = await this.#parts.estimator.usageOf(body.value, produced());
    return { usage, usageSource: "estimated" };
  }
}

function told(usage: Usage | null): ToldUsage | null {
  return usage === null ? null : { usage, usageSource: "upstream" };
}

/** Not dropped in silence: what an upstream's package has found out too late to refuse. */
function withIgnored(headers: ResponseHeaders, fields: readonly string[]): ResponseHeaders {
  return fields.length === 0 ? headers : { ...headers, "ostiary-ignored-fields": fields.join(", ") };
}

/** Where there is less credit than the request may cost, what can be paid is what is asked of the upstream. */
function withinBudget(body: JsonBody, { affordableTokens: tokens }: PaidCall): JsonBody {
  if (tokens === null) return body;
  const { max_completion_tokens: most, max_tokens: mostOnce } = body.value;
  if (typeof most !== "number") return body.with({ max_tokens: tokens });
  return body.with({
    max_completion_tokens: tokens,
    ...(typeof mostOnce === "number" ? { max_tokens: tokens } : {}),
  });
}
