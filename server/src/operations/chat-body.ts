import * as z from "zod";
import { Failure } from "../errors/failure.ts";
import { isJsonObject, type JsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { BodySchema } from "./body-schema.ts";
import type { ModelUse } from "./operation.ts";

/** What the gateway needs to know of a chat request. */
export interface ChatInput extends ModelUse {
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 1_024;
const MAX_STOPS = 64;
/** Seeds are 64-bit integers. Their digits are forwarded as they are. */
const MAX_SEED = 2 ** 63;
/** The fields that say how long an answer may be. */
export const MAX_TOKENS_FIELDS = ["max_completion_tokens", "max_tokens"];

// For some servers 0 means no limit.
const maxTokens = z.number().int().min(1).max(1_000_000_000).nullish();
const penalty = z.number().min(-2).max(2).nullish();
export const modelName = z
  .string({ error: "must be a string: the id of a model of `GET /v1/models`" })
  .min(1)
  .max(256);

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
export const chatBody = new BodySchema(
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
    seed: z.number().multipleOf(1, "must be a whole number").min(-MAX_SEED).max(MAX_SEED).nullish(),
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
    messages: { schema: message, max: MAX_MESSAGES },
    tools: { schema: tool, max: MAX_TOOLS },
    stop: { schema: z.string(), max: MAX_STOPS },
  },
);

/** Fields by which clients of other gateways route requests. Here only the operator routes them. */
const ROUTING_FIELDS = new Set([
  "api_base",
  "api_key",
  "api_version",
  "base_url",
  "custom_llm_provider",
  "extra_headers",
  "fallbacks",
  "models",
  "provider",
  "route",
  "router",
  "upstream",
]);

/** In lower case, however a server folds it. */
const PLAIN_NAME = /^[a-z0-9_]*$/;
const RELIED_ON = new Set([...chatBody.names, "input", "dimensions", "encoding_format"]);

/** @throws {Failure} `invalid_request` naming the field. */
export function readChat(body: JsonBody): ChatInput {
  requirePlainFields(body);
  const data = chatBody.read(body.value);
  return {
    model: data.model,
    stream: data.stream === true,
    includeUsage: data.stream_options?.include_usage === true,
    maxTokens: larger(data.max_completion_tokens ?? null, data.max_tokens ?? null),
    choices: data.n ?? 1,
    prompts: 1,
    ...mediaIn(data.messages as readonly JsonObject[]),
  };
}

/**
 * `reliedOn`: the names of the fields that the service checks or charges.
 *
 * @throws {Failure} `invalid_request` for a field that stands twice, or says where the request is to go.
 */
export function requirePlainFields(body: JsonBody, reliedOn: ReadonlySet<string> = RELIED_ON): void {
  const doubled = body.doubledName;
  if (doubled !== null) {
    throw new Failure("invalid_request", "The body has this field twice. Send it once.", {
      param: withoutSecrets(doubled).slice(0, 64),
    });
  }
  for (const name of Object.keys(body.value)) {
    const folded = PLAIN_NAME.test(name) ? name : name.normalize("NFKC").toLowerCase();
    // Case-insensitive servers would take the field for the one that is checked and charged.
    if (folded !== name && (reliedOn.has(folded) || ROUTING_FIELDS.has(folded))) {
      throw new Failure("invalid_request", `Fields are written in lower case: ${folded}.`, { param: folded });
    }
    if (!ROUTING_FIELDS.has(name)) continue;
    throw new Failure(
      "invalid_request",
      `${name}: the operator decides which upstream answers. Remove the field and choose a model.`,
      { param: name },
    );
  }
}

/** Servers differ in which of the two they use. */
function larger(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Counts images and files by the members of the parts, because some servers accept parts without a `type`. */
function mediaIn(messages: readonly JsonObject[]): { readonly images: number; readonly files: number } {
  let images = 0;
  let files = 0;
  for (const { content } of messages) {
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
