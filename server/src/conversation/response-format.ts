import { type ErrorCode, envelopeOf, type Failure } from "../errors/failure.ts";
import type { Json, JsonObject } from "../json/json.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { HEARTBEAT } from "./control-events.ts";
import type { ControlEvents } from "./wire.ts";

/** The value of `include` by which a client asks for encrypted reasoning. */
export const ENCRYPTED_REASONING = "reasoning.encrypted_content";

/** That by which a client asks for the probabilities of the answer's tokens. */
export const TEXT_LOGPROBS = "message.output_text.logprobs";

/**
 * The codes of a failed response. Codex ends its turn at `context_length_exceeded`, `insufficient_quota` and `invalid_prompt`, waits
 * at `rate_limit_exceeded` and `server_is_overloaded`, and tries all others again.
 */
const RESPONSE_CODES: Readonly<Partial<Record<ErrorCode, string>>> = {
  context_length_exceeded: "context_length_exceeded",
  credit_balance_exhausted: "insufficient_quota",
  invalid_request: "invalid_prompt",
  request_too_large: "invalid_prompt",
  model_not_found: "invalid_prompt",
  rate_limit_exceeded: "rate_limit_exceeded",
  too_many_concurrent_requests: "rate_limit_exceeded",
  server_is_overloaded: "server_is_overloaded",
};

/** The `error` of a failed response. */
export function responseErrorOf(failure: Failure): JsonObject {
  const code = RESPONSE_CODES[failure.code] ?? "server_error";
  // Codex reads from the message how long it has to wait.
  const wait =
    code === "rate_limit_exceeded" && failure.retryAfterMs !== null
      ? ` Please try again in ${Math.ceil(failure.retryAfterMs / 1_000)}s.`
      : "";
  return { code, message: failure.message + wait };
}

/** An event of a stream of the Responses API. `data` is JSON. */
export function responseEventText(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`;
}

/** Keeps a stream open that has begun. Clients that limit the time between events do not count comments. */
export function keepaliveEvent(sequenceNumber: number): string {
  const type = "keepalive";
  return responseEventText(type, JSON.stringify({ type, sequence_number: sequenceNumber }));
}

/**
 * The event of a failure. OpenAI documents its members beside the type, and sends them in an `error`: clients read the one or the other.
 */
function errorEvent(failure: Failure, sequenceNumber: number): string {
  const { type, param } = envelopeOf(failure).error;
  const error = { ...responseErrorOf(failure), param };
  const data = { type: "error", sequence_number: sequenceNumber, ...error, error: { type, ...error } };
  return responseEventText("error", JSON.stringify(data));
}

/**
 * The last events of a stream that fails when its response has begun. As OpenAI's, it has an `error` event before `response.failed`:
 * OpenAI's libraries throw at the first and take the second for an ordinary event, and LangChain and others pass over the second.
 *
 * @param response The response that has failed, as JSON.
 */
export function failedResponseEvents(failure: Failure, sequenceNumber: number, response: string): string {
  const type = "response.failed";
  const data = `{"type":"${type}","sequence_number":${sequenceNumber + 1},"response":${response}}`;
  return errorEvent(failure, sequenceNumber) + responseEventText(type, data);
}

/** Of a stream in which no response has begun yet. */
export const EARLY_RESPONSE_CONTROL_EVENTS: ControlEvents = {
  heartbeat: () => HEARTBEAT,
  failure: (failure) => errorEvent(failure, 0),
};

/** The `usage` of a response. */
export function responseUsageOf(usage: Usage): JsonObject {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens } = usage;
  return {
    input_tokens: promptTokens,
    input_tokens_details: {
      cached_tokens: cachedTokens,
      cache_write_tokens: (cacheWriteTokens ?? 0) + (cacheWrite1hTokens ?? 0),
    },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: promptTokens + completionTokens,
  };
}

/** Whether a request asks for encrypted reasoning. */
export function asksForEncrypted(include: Json | undefined): boolean {
  return Array.isArray(include) && include.includes(ENCRYPTED_REASONING);
}
