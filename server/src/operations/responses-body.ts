import * as z from "zod";
import { isJsonObject, type Json, type JsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import { objectOf } from "../json/members.ts";
import { bodySchema, modelName } from "./body-schema.ts";
import { invalid } from "./invalid-field.ts";

/** The fields that say how long an answer may be. */
export const MAX_OUTPUT_TOKENS_FIELDS = ["max_output_tokens"];

const MAX_ITEMS = 10_000;
const MAX_TOOLS = 1_024;
const MAX_INCLUDES = 64;
const MAX_ID_LENGTH = 256;
const MAX_METADATA = 16;
const METADATA_ERROR = `must have at most ${MAX_METADATA} pairs`;
const MAX_METADATA_NAME = 64;
const MAX_METADATA_VALUE = 512;

const shortText = z.string().max(512).nullish();
const item = z.looseObject({ type: z.string().max(64).nullish() });
const tool = z.looseObject({ type: z.string().min(1).max(64) });
const metadata = z
  .record(z.string().max(MAX_METADATA_NAME), z.string().max(MAX_METADATA_VALUE))
  .refine((pairs) => Object.keys(pairs).length <= MAX_METADATA, METADATA_ERROR)
  .meta({ maxProperties: MAX_METADATA });

/** The fields that the service relies on, within the bounds that OpenAI documents (API reference, "Create a model response"). */
export const responsesBody = bodySchema(
  {
    model: modelName,
    input: z
      .union([z.string(), z.array(item).max(MAX_ITEMS)], "must be a text, or an array of items")
      .nullish(),
    instructions: z.string().nullish(),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_obfuscation: z.boolean().nullish() }).nullish(),
    store: z.boolean().nullish(),
    previous_response_id: z.string().min(1).max(MAX_ID_LENGTH).nullish(),
    background: z.boolean().nullish(),
    include: z.array(z.string().max(128)).max(MAX_INCLUDES).nullish(),
    max_output_tokens: z.number().int().min(1).max(1_000_000_000).nullish(),
    max_tool_calls: z.number().int().min(1).nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    top_logprobs: z.number().int().min(0).max(20).nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    tools: z.array(tool, { error: "must be an array of tools" }).max(MAX_TOOLS).nullish(),
    tool_choice: z
      .union(
        [z.enum(["none", "auto", "required"]), z.looseObject({ type: z.string().max(64) })],
        "must be none, auto, required, or an object with a type",
      )
      .nullish(),
    text: z
      .looseObject({
        format: z.looseObject({ type: z.enum(["text", "json_object", "json_schema", "grammar"]) }).nullish(),
        verbosity: z.enum(["low", "medium", "high"]).nullish(),
      })
      .nullish(),
    reasoning: z.looseObject({ effort: shortText, summary: shortText }).nullish(),
    truncation: z.enum(["auto", "disabled"]).nullish(),
    metadata: metadata.nullish(),
    prompt_cache_key: shortText,
    prompt_cache_options: z.looseObject({}).nullish(),
    prompt_cache_retention: shortText,
    safety_identifier: shortText,
    service_tier: shortText,
    user: shortText,
  },
  {
    items: {
      input: { schema: item, max: MAX_ITEMS },
      tools: { schema: tool, max: MAX_TOOLS },
      include: { schema: z.string().max(128), max: MAX_INCLUDES },
    },
    // Other ways to keep a conversation.
    refused: {
      conversation: "is not supported. Use previous_response_id, or send the history as input",
      prompt: "is not supported: this service stores no prompts. Send instructions and input",
    },
  },
);

type ResponsesBody = ReturnType<typeof responsesBody.read>;

/** Validates a request. @throws {Failure} `invalid_request` naming the field. */
export function checkResponsesBody(body: JsonBody): ResponsesBody {
  // The schema would report each wrong pair, however many there are.
  if (Object.keys(objectOf(body.value.metadata)).length > MAX_METADATA)
    throw invalid("metadata", METADATA_ERROR);
  const data = responsesBody.read(body);
  if (data.background === true) {
    throw invalid("background", "is not supported. Leave it out and wait for the answer, or stream it");
  }
  requireInput(body.value);
  const { input, tools, text, tool_choice: choice } = body.value;
  requireFormat(objectOf(text).format);
  if (isJsonObject(choice) && choice.type === "allowed_tools")
    requireArray(choice.tools, "tool_choice.tools");
  if (Array.isArray(tools)) requireTools(tools, "tools");
  if (Array.isArray(input)) for (const [index, one] of input.entries()) requireItem(one, `input.${index}`);
  return data;
}

/** A request that continues a response may add nothing to it. */
function requireInput({ input = null, messages = null, previous_response_id: previous }: JsonObject): void {
  if (typeof previous === "string" || typeof input === "string") return;
  if (input === null && messages !== null) {
    throw invalid(
      "input",
      "is required. The body has messages, as Chat Completions take them: send it to POST /v1/chat/completions, or send input.",
    );
  }
  if (!Array.isArray(input) || input.length === 0) {
    throw invalid("input", "must be a text, or an array of items that is not empty");
  }
}

function requireFormat(format: Json | undefined): void {
  if (!isJsonObject(format) || format.type !== "json_schema") return;
  requireText(format.name, "text.format.name");
  if (!isJsonObject(format.schema)) throw invalid("text.format.schema", "must be a JSON Schema");
  requireOptional(format, "description", "string", "text.format");
  requireOptional(format, "strict", "boolean", "text.format");
}

function requireTools(tools: Json | undefined, at: string): void {
  for (const [index, one] of requireArray(tools, at).entries()) {
    const toolAt = `${at}.${index}`;
    if (!isJsonObject(one) || typeof one.type !== "string")
      throw invalid(toolAt, "must be a tool with a type");
    if (one.type === "function" || one.type === "custom" || one.type === "namespace") {
      requireText(one.name, `${toolAt}.name`);
    }
    requireOptional(one, "description", "string", toolAt);
    requireOptional(one, "strict", "boolean", toolAt);
    const { parameters } = one;
    if (parameters !== undefined && parameters !== null && !isJsonObject(parameters)) {
      throw invalid(`${toolAt}.parameters`, "must be a JSON Schema");
    }
    if (one.type === "namespace") requireTools(one.tools, `${toolAt}.tools`);
  }
}

/** Checks the members of the items that the service reads. Items that it does not know are left to the upstream. */
function requireItem(value: Json, at: string): void {
  const one = objectOf(value);
  switch (one.type ?? typeOf(one)) {
    case "message":
      requireMessage(one, at);
      break;
    case "function_call":
      requireCall(one, "arguments", at);
      break;
    case "custom_tool_call":
      requireCall(one, "input", at);
      break;
    case "function_call_output":
    case "custom_tool_call_output":
      requireText(one.call_id, `${at}.call_id`);
      requireContent(one.output, `${at}.output`);
      break;
    case "item_reference":
      requireText(one.id, `${at}.id`);
      break;
    case "reasoning":
      if ((one.summary ?? null) !== null) requireArray(one.summary, `${at}.summary`);
      requireOptional(one, "encrypted_content", "string", at);
      break;
    case "additional_tools":
    case "tool_search_output":
      requireTools(one.tools, `${at}.tools`);
      break;
    case null:
      throw invalid(`${at}.type`, "is required for an item that is not a message");
  }
}

/** The type of an item without one. */
function typeOf({ role, id }: JsonObject): string | null {
  if (role !== undefined) return "message";
  return typeof id === "string" ? "item_reference" : null;
}

/** Whether an item only names another one. */
export function isReference(value: Json): value is JsonObject & { readonly id: string } {
  if (!isJsonObject(value) || typeof value.id !== "string") return false;
  return (value.type ?? typeOf(value)) === "item_reference";
}

/** Whether an item is a thought of a response, without what its provider wants back. */
export function isBareThought(value: Json): value is JsonObject & { readonly id: string } {
  if (!isJsonObject(value) || value.type !== "reasoning" || typeof value.id !== "string") return false;
  return (value.encrypted_content ?? null) === null;
}

const ROLES = ["user", "assistant", "system", "developer"];

function requireMessage({ role, content }: JsonObject, at: string): void {
  if (typeof role !== "string" || !ROLES.includes(role)) {
    throw invalid(`${at}.role`, `must be one of ${ROLES.join(", ")}`);
  }
  requireContent(content, `${at}.content`);
}

/** The member that a part of a message has to have. */
const PART_TEXTS: ReadonlyMap<Json, string> = new Map([
  ["input_text", "text"],
  ["output_text", "text"],
  ["refusal", "refusal"],
]);

function requireContent(content: Json | undefined, at: string): void {
  if (typeof content === "string") return;
  if (!Array.isArray(content)) throw invalid(at, "must be a text, or an array of parts");
  for (const [index, part] of content.entries()) {
    const partAt = `${at}.${index}`;
    if (!isJsonObject(part) || typeof part.type !== "string")
      throw invalid(partAt, "must be a part with a type");
    const name = PART_TEXTS.get(part.type);
    if (name !== undefined && typeof part[name] !== "string")
      throw invalid(`${partAt}.${name}`, "must be a text");
    for (const text of ["image_url", "file_url", "file_data", "file_id", "detail", "filename"]) {
      requireOptional(part, text, "string", partAt);
    }
  }
}

/** Checks a member that may be absent or `null`. */
function requireOptional(one: JsonObject, name: string, type: "string" | "boolean", at: string): void {
  const value = one[name];
  if (value === undefined || value === null || typeof value === type) return;
  throw invalid(`${at}.${name}`, type === "string" ? "must be a text" : "must be true or false");
}

function requireCall(one: JsonObject, inputName: string, at: string): void {
  requireText(one.call_id, `${at}.call_id`);
  requireText(one.name, `${at}.name`);
  if (typeof one[inputName] !== "string") throw invalid(`${at}.${inputName}`, "must be a text");
}

function requireText(value: Json | undefined, at: string): void {
  if (typeof value !== "string" || value === "" || value.length > MAX_ID_LENGTH) {
    throw invalid(at, `must be a text of 1 to ${MAX_ID_LENGTH} characters`);
  }
}

function requireArray(value: Json | undefined, at: string): readonly Json[] {
  if (!Array.isArray(value)) throw invalid(at, "must be an array");
  return value;
}

/** Counts the images and files in messages and in the results of tools. */
export function mediaInItems(items: readonly Json[]): { readonly images: number; readonly files: number } {
  let images = 0;
  let files = 0;
  for (const one of items) {
    if (!isJsonObject(one)) continue;
    if (one.type === "image_generation_call") images++;
    for (const parts of [one.content, one.output]) {
      for (const part of Array.isArray(parts) ? parts : [parts]) {
        if (!isJsonObject(part)) continue;
        // A part may have a text as well.
        if (part.type === "input_image" || "image_url" in part) images++;
        else if (typeof part.text !== "string" && part.type !== "refusal") files++;
      }
    }
  }
  return { images, files };
}
