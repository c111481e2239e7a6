import type { ErrorCode } from "../../../../sdk/src/contract/error-codes.ts";
import { SANDBOX_MAX_CONCURRENCY } from "../../catalog/catalog.ts";
import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { Failure } from "../../errors/failure.ts";
import {
  type ConversationAnswer,
  type Dialect,
  type DialectDefinition,
  type DialectParts,
  type ForwardCall,
  UpstreamRefused,
} from "../dialect.ts";
import { CompletionReader } from "../openai/answer-events.ts";
import { thinkerOf } from "../openai/conversation-body.ts";
import { CHAT_PATH, openAiDialect } from "../openai/index.ts";
import { postWithBearer } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import type { Transport } from "../transport.ts";
import { createSandboxTransport } from "./sandbox-transport.ts";

/** Models that need no provider: they answer in process. */
export const sandbox: DialectDefinition = {
  name: "sandbox",
  settings: { timeouts: UPSTREAM_SETTINGS.timeouts },
  isSandbox: true,
  fixed: { baseUrl: "sandbox:", maxConcurrency: SANDBOX_MAX_CONCURRENCY },
  open: sandboxDialect,
};

const RETRY_AFTER_MS = 1_000;

/**
 * Statuses that the sandbox simulates as errors of the service itself. Other statuses are handled as those of any upstream.
 */
const CODES: Readonly<Record<number, ErrorCode>> = {
  401: "invalid_api_key",
  402: "credit_balance_exhausted",
  403: "permission_denied",
  404: "not_found",
  408: "request_timeout",
  409: "conflict",
  413: "request_too_large",
  415: "unsupported_media_type",
  429: "rate_limit_exceeded",
  502: "upstream_error",
  503: "server_is_overloaded",
  504: "upstream_timeout",
};

/** The dialect of the sandbox models. */
function sandboxDialect({ now, monotonicMs }: DialectParts): Dialect {
  const transport = createSandboxTransport({ now });
  const { own, converse, embed } = openAiDialect(transport, monotonicMs);
  return {
    own: own && {
      wire: own.wire,
      forward: (call) =>
        (asksInOtherWords(call) ? read(transport, call) : own.forward(call)).catch(throwAsService),
    },
    converse: (call) => converse(call).catch(throwAsService),
    embed: (call) => embed(call).catch(throwAsService),
  };
}

/** Whether a client reads thoughts in the lists of OpenRouter or LiteLLM, which only the service writes: it signs them. */
function asksInOtherWords({ request: { body } }: ForwardCall): boolean {
  const { n = null, reasoning = null, include_reasoning: included = null, thinking = null } = body.value;
  return (n ?? 1) === 1 && (reasoning !== null || included !== null || thinking !== null);
}

/** Answers a request as it is, and leaves writing the answer to the service. */
async function read(transport: Transport, call: ForwardCall): Promise<ConversationAnswer> {
  const { body, stream } = call.request;
  const text = body.textWith({
    model: call.upstreamModel,
    stream_options: stream ? { include_usage: true } : undefined,
  });
  const response = await postWithBearer(transport, call, CHAT_PATH, text);
  return readAnswer(response, { stream, reader: new CompletionReader(thinkerOf(call)), ignored: [] });
}

function throwAsService(thrown: unknown): never {
  if (!(thrown instanceof UpstreamRefused)) throw thrown;
  const { status } = thrown;
  const code = CODES[status];
  if (code === undefined) throw thrown;
  const details = status === 429 || status === 503 ? { retryAfterMs: RETRY_AFTER_MS } : {};
  throw new UpstreamRefused(
    status,
    new Failure(code, `The sandbox simulates status ${status}, as the message requested.`, details),
  );
}
