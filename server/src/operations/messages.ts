import { cannot } from "../conversation/conversation.ts";
import { signatureSealer } from "../conversation/sealed-signature.ts";
import type { WireRequest } from "../conversation/wire.ts";
import type { PaidCall } from "../credits/request-cost.ts";
import { isJsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { Sealer } from "../secrets/sealer.ts";
import { TextTally } from "../tokens/text-tally.ts";
import { messagesRequest } from "../wire/messages/messages-request.ts";
import { promptTextOf } from "../wire/messages/prompt-text.ts";
import {
  countTokensBody,
  MAX_TOKENS_FIELD,
  type MessagesInput,
  messagesBody,
  readCountTokens,
  readMessages,
} from "./messages-body.ts";
import { modelAnswer } from "./openapi-answers.ts";
import {
  body,
  IDEMPOTENCY_KEY,
  json,
  MESSAGES_CREDENTIALS,
  MESSAGES_VERSION,
  MODEL_ERRORS,
  messagesErrors,
  object,
  schemaOf,
} from "./openapi-parts.ts";
import type { ModelCall, ModelOperation, ModelUse } from "./operation.ts";
import { FREE_FACTS, jsonReply } from "./reply.ts";
import { type ModelOperationParts, runAnswer } from "./run-answer.ts";

export interface MessagesParts extends ModelOperationParts {
  /** Seals what providers want back with thoughts and tool calls. */
  readonly sealer: Sealer;
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
    openapi: () => ({
      operationId: "createMessage",
      summary: "A message of Anthropic's Messages API; with `stream` as server-sent events",
      security: MESSAGES_CREDENTIALS,
      parameters: [MESSAGES_VERSION, IDEMPOTENCY_KEY],
      requestBody: body(schemaOf(messagesBody.schema)),
      responses: {
        200: modelAnswer("Message", "As Anthropic's messages", { isStreamable: true }),
        ...messagesErrors(MODEL_ERRORS),
      },
    }),
    maxBodyBytes: parts.maxBodyBytes,
    outputTokenFields: [MAX_TOKENS_FIELD],
    read: readMessages,
    run: (call) => runAnswer(parts, call, requestOf(parts, call)),
  };
}

function requestOf({ sealer, estimator }: MessagesParts, call: ModelCall<MessagesInput>): WireRequest {
  const { input, accountId, exchange, paid } = call;
  const headers = FORWARDED_HEADERS.flatMap((name) => {
    const values = exchange.header(name).filter((value) => value.trim() !== "");
    const value = name === "anthropic-version" ? values[0] : values.join(",");
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return messagesRequest(withinCredit(call.body, paid), {
    stream: input.stream,
    maxOutputTokens: paid.costBasis.model.maxOutputTokens,
    headers: Object.fromEntries(headers),
    query: exchange.query.get("beta") === "true" ? "?beta=true" : "",
    signatures: signatureSealer(sealer, `thoughts of ${accountId}`),
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

/**
 * `POST /v1/messages/count_tokens`. The service counts by itself, also for models of Anthropic's: clients ask before each request, and
 * the answer is the same estimate as at the beginning of a stream, whichever upstream serves the model and whether it works or not.
 */
export function countTokens({ estimator, maxBodyBytes }: ModelOperationParts): ModelOperation<ModelUse> {
  return {
    kind: "model",
    method: "POST",
    path: "/v1/messages/count_tokens",
    auth: "key",
    openapi: () => ({
      operationId: "countMessageTokens",
      summary: "Estimates the tokens of a message's prompt, free of charge",
      security: MESSAGES_CREDENTIALS,
      parameters: [MESSAGES_VERSION],
      requestBody: body(schemaOf(countTokensBody.schema)),
      responses: {
        200: {
          description: "The number of tokens",
          content: json(object({ input_tokens: { type: "integer" } })),
        },
        ...messagesErrors(MODEL_ERRORS),
      },
    }),
    maxBodyBytes,
    outputTokenFields: [],
    isFree: true,
    read: readCountTokens,
    run: async ({ body: asked, paid }) => {
      const { promptTokens } = await estimator.usageOfPrompt(promptTextOf(asked.value), new TextTally());
      return jsonReply({ input_tokens: promptTokens }, { ...FREE_FACTS, model: paid.costBasis.model.id });
    },
  };
}
