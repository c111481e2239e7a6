import * as z from "zod";
import { THREAD_FIELD } from "../errors/messages-error.ts";
import { isJsonObject, type Json, type JsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import { arrayOf, objectOf } from "../json/members.ts";
import { bodySchema, modelName } from "./body-schema.ts";
import { invalid } from "./invalid-field.ts";
import type { ModelUse } from "./operation.ts";

/** The fields of a request of the Messages API that the gateway uses. */
export interface MessagesInput extends ModelUse {
  readonly stream: boolean;
}

const MAX_MESSAGES = 100_000;
const MAX_TOOLS = 10_000;
const MAX_STOPS = 8_191;
/** The field that says how long an answer may be. */
export const MAX_TOKENS_FIELD = "max_tokens";
/** Some models have a minimum, to which shorter answers are raised, as those of requests that only try whether a model answers. */
const MIN_PAID_TOKENS = 16;

const BLOCK = {
  type: "object",
  properties: { type: { type: "string" } },
  required: ["type"],
  additionalProperties: {},
};
const CONTENT_ERROR = "must be a text, or an array of blocks with a type";
/** A schema of blocks would report each wrong one, and a body may have millions. The description is for the OpenAPI document. */
const content = z
  .custom<Json>(isContent, CONTENT_ERROR)
  .meta({ anyOf: [{ type: "string" }, { type: "array", items: BLOCK }] });
/** Instructions within a conversation may only set the effort. All others have a content: see {@link requireContents}. */
const message = z.looseObject({
  role: z.enum(["user", "assistant", "system"], { error: "must be user, assistant or system" }),
  content: content.optional(),
});
const tool = z.looseObject({
  type: z.string().nullish(),
  name: z.string({ error: "must be the name of the tool" }).min(1).max(256).optional(),
  description: z.string().nullish(),
  input_schema: z.looseObject({}, { error: "must be a JSON Schema of type object" }).optional(),
  strict: z.boolean().nullish(),
});
const thinking = z.looseObject({
  type: z.string(),
  budget_tokens: z.number().int().min(1_024, "must be at least 1024").max(1_000_000_000).optional(),
  display: z.string().nullish(),
});
const outputConfig = z.looseObject({
  effort: z.string().nullish(),
  format: z.looseObject({ type: z.string() }).nullish(),
});

/** The fields that a request and a count of its tokens have in common. */
const fields = {
  model: modelName,
  messages: z
    .array(message, { error: "must be an array of messages" })
    .min(1, "must hold at least one message")
    .max(MAX_MESSAGES),
  system: content.nullish(),
  tools: z.array(tool, { error: "must be an array of tools" }).max(MAX_TOOLS).nullish(),
  tool_choice: z
    .looseObject({
      type: z.enum(["auto", "any", "tool", "none"], { error: "must be auto, any, tool or none" }),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .nullish(),
  thinking: thinking.nullish(),
  output_config: outputConfig.nullish(),
};
const items = {
  messages: { schema: message, max: MAX_MESSAGES },
  tools: { schema: tool, max: MAX_TOOLS },
};

/**
 * The fields that the gateway relies on, within the bounds that Anthropic documents (API reference, "Create a Message"). An upstream
 * of Anthropic's validates all other fields. Values that Anthropic adds to from time to time are not listed: its clients send the
 * newest ones to every model.
 */
export const messagesBody = bodySchema(
  {
    ...fields,
    max_tokens: z
      .number({ error: "must be a whole number: the maximum tokens of the answer" })
      .int()
      // Anthropic writes a prompt to its cache and answers nothing with 0.
      .min(0)
      .max(1_000_000_000),
    stream: z.boolean().nullish(),
    temperature: z.number().min(0).max(1).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    top_k: z.number().int().min(0).nullish(),
    stop_sequences: z.array(z.string()).max(MAX_STOPS).nullish(),
    metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
    service_tier: z.string().nullish(),
  },
  {
    items: { ...items, stop_sequences: { schema: z.string(), max: MAX_STOPS } },
    refused: {
      // Anthropic would keep the conversation: its bytes would not be in the request, by which it is paid for, and an account could
      // continue another's.
      [THREAD_FIELD]:
        "conversations are not kept by the service. Send the whole conversation without this field.",
    },
  },
);

/** The fields of a count of tokens. */
export const countTokensBody = bodySchema(fields, { items });

function isContent(value: unknown): boolean {
  if (!Array.isArray(value)) return typeof value === "string";
  return value.every((block: unknown) => isJsonObject(block) && typeof block.type === "string");
}

/** @throws {Failure} `invalid_request` naming the field. */
export function readMessages(body: JsonBody): MessagesInput {
  const data = messagesBody.read(body);
  requireContents(body.value);
  return {
    model: data.model,
    stream: data.stream === true,
    maxTokens: Math.max(data.max_tokens, MIN_PAID_TOKENS),
    choices: 1,
    prompts: 1,
    ...mediaIn(body.value),
  };
}

/** @throws {Failure} `invalid_request` naming the field. */
export function readCountTokens(body: JsonBody): ModelUse {
  const { model } = countTokensBody.read(body);
  requireContents(body.value);
  return { model, maxTokens: 0, choices: 1, prompts: 1, images: 0, files: 0 };
}

function requireContents({ messages }: JsonObject): void {
  for (const [index, message] of arrayOf(messages).entries()) {
    const { role, content: said, output_config: config } = objectOf(message);
    if (said === undefined && (role !== "system" || !isJsonObject(config)))
      throw invalid(`messages.${index}.content`, CONTENT_ERROR);
  }
}

/** Counts images and documents, also those of tool results. */
function mediaIn({ messages }: JsonObject): { readonly images: number; readonly files: number } {
  const counted = { images: 0, files: 0 };
  for (const message of arrayOf(messages)) countMedia(objectOf(message).content, counted);
  return counted;
}

function countMedia(blocks: Json | undefined, counted: { images: number; files: number }): void {
  for (const block of arrayOf(blocks)) {
    const { type, source, content } = objectOf(block);
    const { type: sourceType, content: sourceContent } = objectOf(source);
    // Text stands in the body, whose length bounds its tokens.
    const isInlineText = sourceType === "text" || sourceType === "content";
    if (type === "image") counted.images++;
    else if (type === "document" && !isInlineText) counted.files++;
    else {
      countMedia(content, counted);
      countMedia(sourceContent, counted);
    }
  }
}
