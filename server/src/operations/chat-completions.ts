import * as z from "zod";
import { signatureSealer } from "../conversation/sealed-signature.ts";
import type { PaidCall } from "../credits/request-cost.ts";
import { isJsonObject, type JsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import { objectOf } from "../json/members.ts";
import type { Sealer } from "../secrets/sealer.ts";
import { chatRequest } from "../wire/chat/chat-request.ts";
import { bodySchema, modelName } from "./body-schema.ts";
import { invalid } from "./invalid-field.ts";
import { modelAnswer } from "./openapi-answers.ts";
import { body, errors, IDEMPOTENCY_KEY, MODEL_ERRORS, schemaOf } from "./openapi-parts.ts";
import type { ModelOperation, ModelUse } from "./operation.ts";
import { type ModelOperationParts, runAnswer } from "./run-answer.ts";

interface ChatParts extends ModelOperationParts {
  /** Seals what providers want back with thoughts and tool calls. */
  readonly sealer: Sealer;
}

/** The fields of a chat request that the gateway uses. */
interface ChatInput extends ModelUse {
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 1_024;
const MAX_STOPS = 64;
/** Seeds are 64-bit integers. Their digits are forwarded as they are. */
const MAX_SEED = 2 ** 63;
const SEED_ERROR = "must be a whole number of 64 bits";
/** The fields that limit the length of an answer. Clients and servers use one or the other. */
const MAX_TOKENS_FIELDS = ["max_completion_tokens", "max_tokens"];

// 0 is refused, because some servers take it for no limit.
const maxTokens = z.number().int().min(1).max(1_000_000_000).nullish();
const penalty = z.number().min(-2).max(2).nullish();

const message = z.looseObject({ role: z.string() });
const tool = z.looseObject({
  type: z.string(),
  function: z
    .looseObject({ name: z.string().min(1).max(256), parameters: z.looseObject({}).nullish() })
    .optional(),
});

/**
 * The fields that the gateway relies on, within the bounds that OpenAI documents (API reference, "Create chat completion"). The
 * upstream validates all other fields.
 */
const chatBody = bodySchema(
  {
    model: modelName,
    messages: z
      .array(message, { error: "must be an array of messages" })
      .min(1, "must hold at least one message")
      .max(MAX_MESSAGES),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    n: z.number().int().min(1).max(128).nullish(),
    max_tokens: maxTokens,
    max_completion_tokens: maxTokens,
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    presence_penalty: penalty,
    frequency_penalty: penalty,
    logprobs: z.boolean().nullish(),
    top_logprobs: z.number().int().min(0).max(20).nullish(),
    seed: z.number().multipleOf(1, SEED_ERROR).min(-MAX_SEED, SEED_ERROR).max(MAX_SEED, SEED_ERROR).nullish(),
    stop: z
      .union([z.string(), z.array(z.string()).max(MAX_STOPS)], "must be a text, or an array of texts")
      .nullish(),
    tools: z.array(tool, { error: "must be an array of tools" }).max(MAX_TOOLS).nullish(),
    tool_choice: z
      .union([z.string(), z.looseObject({ type: z.string() })], "must be a text, or an object with a type")
      .nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    response_format: z.looseObject({ type: z.string() }).nullish(),
  },
  {
    items: {
      messages: { schema: message, max: MAX_MESSAGES },
      tools: { schema: tool, max: MAX_TOOLS },
      stop: { schema: z.string(), max: MAX_STOPS },
    },
  },
);

/** `POST /v1/chat/completions`. */
export function chatCompletions(parts: ChatParts): ModelOperation<ChatInput> {
  return {
    kind: "model",
    method: "POST",
    path: "/v1/chat/completions",
    auth: "key",
    openapi: () => ({
      operationId: "createChatCompletion",
      summary: "A chat completion; with `stream` as server-sent events that end with `data: [DONE]`",
      parameters: [IDEMPOTENCY_KEY],
      requestBody: body(schemaOf(chatBody.schema)),
      responses: {
        200: modelAnswer("ChatCompletion", "As OpenAI's chat completions", { isStreamable: true }),
        ...errors(MODEL_ERRORS),
      },
    }),
    maxBodyBytes: parts.maxBodyBytes,
    outputTokenFields: MAX_TOKENS_FIELDS,
    answersField: "n",
    read: readChat,
    run: (call) => {
      const { body, paid, input, accountId } = call;
      const { stream, includeUsage } = input;
      const signatures = signatureSealer(parts.sealer, `thoughts of ${accountId}`);
      const options = { stream, includeUsage, ownLimit: ownLimit(body, paid), signatures };
      const request = chatRequest(withinCredit(body, paid), options);
      return runAnswer(parts, call, request);
    },
  };
}

function readChat(body: JsonBody): ChatInput {
  const { messages = null, input = null, usage } = body.value;
  // Cursor's agent mode sends requests of the Responses API to this path.
  if (messages === null && input !== null) {
    throw invalid(
      "messages",
      "is required. The body has input, as the Responses API takes it: send it to POST /v1/responses, or send messages.",
    );
  }
  const data = chatBody.read(body);
  const { images, files } = mediaIn(data.messages as readonly JsonObject[]);
  return {
    model: data.model,
    stream: data.stream === true,
    // Clients of OpenRouter ask for the usage by a field of their own.
    includeUsage: data.stream_options?.include_usage === true || objectOf(usage).include === true,
    maxTokens: larger(data.max_completion_tokens ?? null, data.max_tokens ?? null),
    choices: data.n ?? 1,
    prompts: 1,
    images,
    files,
  };
}

/** The larger of two limits, because servers differ in which of the two they use. */
function larger(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Counts images and files by the members of the parts, because some servers accept parts without a `type`. */
function mediaIn(messages: readonly JsonObject[]): { readonly images: number; readonly files: number } {
  let images = 0;
  let files = 0;
  for (const { content, images: produced } of messages) {
    if (Array.isArray(produced)) images += produced.length;
    if (!Array.isArray(content)) continue;
    for (const part of content) {
      if (!isJsonObject(part)) continue;
      // A part may have a text as well.
      if (part.type === "image_url" || "image_url" in part) images++;
      else if (typeof part.text !== "string") files++;
    }
  }
  return { images, files };
}

/** The body with its limits lowered to what the account can pay for, if its credit covers the request only in part. */
function withinCredit(body: JsonBody, { affordableTokens: tokens }: PaidCall): JsonBody {
  if (tokens === null) return body;
  return body.with(
    Object.fromEntries(limitsIn(body).map(([field, limit]) => [field, Math.min(limit, tokens)])),
  );
}

/** The limit that the service adds to a request without one, if credit covers the request only in part; otherwise `null`. */
function ownLimit(body: JsonBody, { affordableTokens }: PaidCall): number | null {
  return affordableTokens === null || limitsIn(body).length > 0 ? null : affordableTokens;
}

/** The fields by which the client limits the answer, with their values. */
function limitsIn({ value }: JsonBody): readonly (readonly [field: string, limit: number])[] {
  return MAX_TOKENS_FIELDS.flatMap((field) => {
    const limit = value[field];
    return typeof limit === "number" ? [[field, limit] as const] : [];
  });
}
