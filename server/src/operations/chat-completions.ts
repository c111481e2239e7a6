import { CHAT_SIGNS } from "../conversation/signs.ts";
import type { PaidCall } from "../credits/price-request.ts";
import type { JsonBody } from "../json/json-body.ts";
import { chatRequest } from "../wire/chat/chat-request.ts";
import { type ChatInput, chatBody, MAX_TOKENS_FIELDS, readChat } from "./chat-body.ts";
import { body, errors, IDEMPOTENCY_KEY, MODEL_ERRORS, RATE_HEADERS, schemaOf } from "./openapi-parts.ts";
import type { ModelOperation } from "./operation.ts";
import { type ModelOperationParts, runAnswer } from "./run-answer.ts";

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
    signs: CHAT_SIGNS,
    read: readChat,
    modelUse: (input) => input,
    run: (call) => {
      const asked = withinCredit(call.body, call.paid);
      return runAnswer(parts, call, { request: chatRequest(asked, call.input) });
    },
  };
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
