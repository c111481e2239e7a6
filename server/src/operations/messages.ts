import { cannot } from "../conversation/conversation.ts";
import type { TextSealer } from "../conversation/sealed-signature.ts";
import { EARLY_MESSAGES_SIGNS } from "../conversation/signs.ts";
import type { WireRequest } from "../conversation/wire.ts";
import type { PaidCall } from "../credits/price-request.ts";
import { isJsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import { messagesRequest } from "../wire/messages/messages-request.ts";
import { MAX_TOKENS_FIELD, type MessagesInput, messagesBody, readMessages } from "./messages-body.ts";
import {
  body,
  IDEMPOTENCY_KEY,
  MESSAGES_CREDENTIALS,
  MESSAGES_VERSION,
  MODEL_ERRORS,
  messagesErrors,
  RATE_HEADERS,
  schemaOf,
} from "./openapi-parts.ts";
import type { ModelCall, ModelOperation } from "./operation.ts";
import { type ModelOperationParts, runAnswer } from "./run-answer.ts";

export interface MessagesParts extends ModelOperationParts {
  /** Seals what providers want back with thoughts and tool calls. */
  readonly sealer: TextSealer;
}

/** Headers of Anthropic's API, which reach no other upstream. */
const FORWARDED_HEADERS = ["anthropic-version", "anthropic-beta"];
/** Anthropic's minimum for a thinking budget. */
const MIN_THINKING_TOKENS = 1_024;
const THINKING_SHARE = 0.8;

/** `POST /v1/messages`. */
export function messages(parts: MessagesParts): ModelOperation<MessagesInput> {
  return {
    kind: "model",
    method: "POST",
    path: "/v1/messages",
    auth: "key",
    openapi: {
      operationId: "createMessage",
      summary: "A message of Anthropic's Messages API; with `stream` as server-sent events",
      security: MESSAGES_CREDENTIALS,
      parameters: [MESSAGES_VERSION, IDEMPOTENCY_KEY],
      requestBody: body(schemaOf(messagesBody.schema)),
      responses: {
        200: {
          description: "As Anthropic's messages; `model` is the catalog's id",
          headers: RATE_HEADERS,
          content: {
            "application/json": { schema: { type: "object" } },
            "text/event-stream": { schema: { type: "string" } },
          },
        },
        ...messagesErrors(MODEL_ERRORS),
      },
    },
    maxBodyBytes: parts.maxBodyBytes,
    outputTokenFields: [MAX_TOKENS_FIELD],
    signs: EARLY_MESSAGES_SIGNS,
    read: readMessages,
    modelUse: (input) => input,
    run: (call) => runAnswer(parts, call, { request: requestOf(parts, call) }),
  };
}

function requestOf({ sealer, estimator }: MessagesParts, call: ModelCall<MessagesInput>): WireRequest {
  const headers = FORWARDED_HEADERS.flatMap((name) => {
    const values = call.header(name).filter((value) => value.trim() !== "");
    const value = name === "anthropic-version" ? values[0] : values.join(",");
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return messagesRequest(withinCredit(call.body, call.paid), {
    stream: call.input.stream,
    maxOutputTokens: call.paid.model.maxOutputTokens,
    headers: Object.fromEntries(headers),
    query: call.query().get("beta") === "true" ? "?beta=true" : "",
    sealer: { sealer, context: `thoughts of ${call.accountId}` },
    estimator,
  });
}

/** Where credit covers the request only in part, the upstream is asked for no more than can be paid for. */
function withinCredit(asked: JsonBody, { affordableTokens: tokens }: PaidCall): JsonBody {
  const { max_tokens: maxTokens, thinking } = asked.value;
  if (tokens === null || typeof maxTokens !== "number" || maxTokens <= tokens) return asked;
  if (!isJsonObject(thinking) || typeof thinking.budget_tokens !== "number") {
    return asked.with({ max_tokens: tokens });
  }
  // The budget has to be smaller than the maximum.
  if (tokens <= MIN_THINKING_TOKENS) {
    throw cannot("thinking.budget_tokens", `needs credit for more than ${MIN_THINKING_TOKENS} tokens`);
  }
  const affordable = Math.max(MIN_THINKING_TOKENS, Math.floor(tokens * THINKING_SHARE));
  const budget = Math.min(thinking.budget_tokens, affordable);
  return asked.with({ max_tokens: tokens, thinking: { ...thinking, budget_tokens: budget } });
}
