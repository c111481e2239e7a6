import { chargeFor, type PaidCall, paidTokens } from "../credits/price-request.ts";
import { resultWithin } from "../errors/deadline.ts";
import { type Gateway, type Routed, RoutesFailed } from "../gateway/gateway.ts";
import { upstreamFailure } from "../gateway/upstream-failure.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { TextTally } from "../tokens/text-tally.ts";
import type { TokenEstimator, Usage } from "../tokens/token-estimate.ts";
import type { ChatAnswer } from "../upstream/dialect.ts";
import { type ChatInput, chatBody, MAX_TOKENS_FIELDS, readChat } from "./chat-body.ts";
import { body, errors, IDEMPOTENCY_KEY, MODEL_ERRORS, RATE_HEADERS, schemaOf } from "./openapi-parts.ts";
import {
  type EntryFacts,
  EVENT_STREAM_HEADERS,
  HEARTBEAT,
  HEARTBEAT_MS,
  JSON_HEADERS,
  LAST_EVENT,
  type ModelCall,
  type ModelOperation,
  NO_FACTS,
  type Reply,
  type ResponseHeaders,
  type StreamReply,
} from "./operation.ts";

export interface ModelOperationParts {
  readonly gateway: Gateway;
  /** Counts tokens where an upstream does not. */
  readonly estimator: TokenEstimator;
  readonly maxBodyBytes: number;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

type ReportedUsage = Pick<EntryFacts, "usage" | "usageSource">;
type ChatCall = ModelCall<ChatInput>;

/** `POST /v1/chat/completions`. */
export function chatCompletions(parts: ModelOperationParts): ModelOperation<ChatInput> {
  return {
    kind: "model",
    method: "POST",
    path: "/v1/chat/completions",
    auth: "key",
    openapi: {
      operationId: "createChatCompletion",
      summary: "A chat completion; with `stream` as server-sent events that end with `data: [DONE]`",
      parameters: [IDEMPOTENCY_KEY],
      requestBody: body(schemaOf(chatBody.schema)),
      responses: {
        200: {
          description: "As OpenAI's chat completions; `model` is the catalog's id",
          headers: RATE_HEADERS,
          content: {
            "application/json": { schema: { type: "object" } },
            "text/event-stream": { schema: { type: "string" } },
          },
        },
        ...errors(MODEL_ERRORS),
      },
    },
    maxBodyBytes: parts.maxBodyBytes,
    outputTokenFields: MAX_TOKENS_FIELDS,
    read: readChat,
    modelUse: (input) => input,
    run: (call) => runChat(parts, { ...call, body: withinCredit(call.body, call.paid) }),
  };
}

async function runChat(parts: ModelOperationParts, call: ChatCall): Promise<Reply> {
  const { body, paid, signal } = call;
  const { stream, includeUsage } = call.input;
  const maxTokens = paidTokens(paid);
  const answering = parts.gateway.chat({
    model: paid.model,
    body,
    stream,
    includeUsage,
    maxTokens,
    signal,
  });
  if (!stream) return await replyOf(parts, call, await answering);
  // A proxy may close a silent connection. After this time the stream begins, and a later failure is an event in it.
  const routed = await resultWithin(HEARTBEAT_MS, answering);
  return routed === null ? lateReply(parts, call, answering) : await replyOf(parts, call, routed);
}

async function replyOf(
  parts: ModelOperationParts,
  call: ChatCall,
  { answer, upstream }: Routed<ChatAnswer>,
): Promise<Reply> {
  const timeToFirstTokenMs = Math.round(parts.monotonicMs() - call.startedMs);
  const { model, priced } = call.paid;
  const factsOf = ({ usage, usageSource }: ReportedUsage): EntryFacts => ({
    model: model.id,
    upstream,
    usage,
    usageSource,
    ...chargeFor(priced, usage),
    timeToFirstTokenMs,
  });
  if (answer.kind === "whole") {
    const facts = factsOf(reported(answer.usage) ?? (await estimated(parts, call.body, answer.produced)));
    return { kind: "whole", headers: withIgnored(JSON_HEADERS, answer.ignored), body: answer.body, facts };
  }
  return {
    ...CHAT_STREAM,
    headers: withIgnored(EVENT_STREAM_HEADERS, answer.ignored()),
    chunks: answer.events,
    facts: async () =>
      factsOf(reported(answer.usage()) ?? (await estimated(parts, call.body, answer.produced))),
  };
}

const CHAT_STREAM = {
  kind: "stream",
  lastChunk: LAST_EVENT,
  atFailure: "event",
  failureOf: upstreamFailure,
} as const;

/** A stream that begins before the upstream has answered: a failure after that is an event in it. */
function lateReply(
  parts: ModelOperationParts,
  call: ChatCall,
  answering: Promise<Routed<ChatAnswer>>,
): StreamReply {
  const { id } = call.paid.model;
  let facts = async (): Promise<EntryFacts> => ({ ...NO_FACTS, model: id });
  const noteUpstream = (thrown: unknown): never => {
    const upstream = thrown instanceof RoutesFailed ? thrown.upstream : null;
    facts = async () => ({ ...NO_FACTS, model: id, upstream });
    throw thrown;
  };
  // The stream reports it, if the client is still connected.
  answering.catch(() => {});
  const chunks = async function* () {
    yield HEARTBEAT;
    const late = await replyOf(parts, call, await answering.catch(noteUpstream));
    if (late.kind !== "stream") throw new Error("a stream was asked for");
    facts = late.facts;
    yield* late.chunks;
  };
  return { ...CHAT_STREAM, headers: EVENT_STREAM_HEADERS, chunks: chunks(), facts: () => facts() };
}

async function estimated(
  { estimator }: ModelOperationParts,
  body: JsonBody,
  produced: () => TextTally,
): Promise<ReportedUsage> {
  return { usage: await estimator.usageOf(body.value, produced()), usageSource: "estimated" };
}

function reported(usage: Usage | null): ReportedUsage | null {
  return usage === null ? null : { usage, usageSource: "upstream" };
}

/** Names the fields that an upstream's package found too late to refuse. */
function withIgnored(headers: ResponseHeaders, fields: readonly string[]): ResponseHeaders {
  return fields.length === 0 ? headers : { ...headers, "ostiary-ignored-fields": fields.join(", ") };
}

/** Where credit covers the request only in part, the upstream is asked for no more than can be paid for. */
function withinCredit(body: JsonBody, { affordableTokens: tokens }: PaidCall): JsonBody {
  if (tokens === null) return body;
  const { max_completion_tokens: maxCompletionTokens, max_tokens: maxTokens } = body.value;
  if (typeof maxCompletionTokens !== "number") return body.with({ max_tokens: tokens });
  return body.with({
    max_completion_tokens: tokens,
    ...(typeof maxTokens === "number" ? { max_tokens: tokens } : {}),
  });
}
