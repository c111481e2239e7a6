import {
  type AudioPart,
  type Conversation,
  cannot,
  EFFORTS,
  type Effort,
  type ImagePart,
  type MediaSource,
  type OutputFormat,
  type TextPart,
  type Tool,
} from "../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject } from "../json/json.ts";
import { booleanOf, numberOf, objectOf, textOf } from "../json/members.ts";
import type { ExactValues } from "./exact-values.ts";

/** Ends the refusal of a file that is named by its id. */
export const NO_STORED_FILES =
  "is not supported by this model: the service stores no files. Send the content of the file as a data URL";

/** What Chat Completions and the Responses API call the fields of {@link commonFieldsOf}, where the names differ. */
export const COMMON_NAMES: Conversation["names"] = {
  topP: "top_p",
  toolChoice: "tool_choice",
  parallelToolCalls: "parallel_tool_calls",
  serviceTier: "service_tier",
  promptCacheKey: "prompt_cache_key",
  promptCacheRetention: "prompt_cache_retention",
  promptCacheOptions: "prompt_cache_options",
};

/** The fields that Chat Completions and the Responses API have alike. */
export function commonFieldsOf(body: JsonObject) {
  return {
    parallelToolCalls: booleanOf(body.parallel_tool_calls),
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    serviceTier: textOf(body.service_tier),
    promptCacheKey: textOf(body.prompt_cache_key),
    promptCacheRetention: textOf(body.prompt_cache_retention),
    promptCacheOptions: isJsonObject(body.prompt_cache_options) ? body.prompt_cache_options : null,
    user: textOf(body.safety_identifier) ?? textOf(body.user),
  };
}

/** The fields that are not among those that are read, and ask for something. `neutral`: values that ask for nothing special. */
export function otherFieldsOf(
  body: JsonObject,
  read: ReadonlySet<string>,
  neutral: ReadonlyMap<string, (value: Json) => boolean>,
): [string, Json][] {
  return Object.entries(body).filter((field): field is [string, Json] => {
    const [name, value] = field;
    return value !== undefined && value !== null && !read.has(name) && neutral.get(name)?.(value) !== true;
  });
}

/** `at`: the place of the function. @throws {Failure} `invalid_request` naming a member of another type than it has. */
export function functionOf(
  { description, parameters, strict }: JsonObject,
  exact: ExactValues,
  at: string,
): Omit<Tool, "name"> {
  const schema = objectAt(parameters, `${at}.parameters`);
  return {
    description: textAt(description, `${at}.description`),
    parameters: schema === null ? null : exact(schema, `${at}.parameters`),
    strict: booleanAt(strict, `${at}.strict`),
    cache: null,
  };
}

/** A text that may be absent. A value of another type is refused: if it were ignored, the model would be asked something else. */
function textAt(value: Json | undefined, at: string): string | null {
  if (typeof value !== "string" && isGiven(value)) throw cannot(at, "must be a text");
  return textOf(value);
}

/** As {@link textAt}, for a boolean. */
function booleanAt(value: Json | undefined, at: string): boolean | null {
  if (typeof value !== "boolean" && isGiven(value)) throw cannot(at, "must be true or false");
  return booleanOf(value);
}

/** As {@link textAt}, for an object. */
function objectAt(value: Json | undefined, at: string): JsonObject | null {
  if (isJsonObject(value)) return value;
  if (isGiven(value)) throw cannot(at, "must be an object");
  return null;
}

function isGiven(value: Json | undefined): boolean {
  return value !== undefined && value !== null;
}

/**
 * @param at The place of its type, for errors.
 * @param described What a format of type `json_schema` says of its schema, with its place.
 */
export function formatOf(
  format: Json | undefined,
  at: string,
  { schema, schemaAt }: { readonly schema: Json | undefined; readonly schemaAt: string },
  exact: ExactValues,
): OutputFormat | null {
  if (!isJsonObject(format)) return null;
  if (format.type === "text") return { kind: "text" };
  if (format.type === "json_object") return { kind: "json" };
  if (format.type !== "json_schema" || !isJsonObject(schema)) {
    throw cannot(at, "must be text, json_object or json_schema");
  }
  const given = objectAt(schema.schema, `${schemaAt}.schema`);
  return {
    kind: "schema",
    name: textAt(schema.name, `${schemaAt}.name`),
    description: textAt(schema.description, `${schemaAt}.description`),
    schema: given === null ? null : exact(given, `${schemaAt}.schema`),
    strict: booleanAt(schema.strict, `${schemaAt}.strict`),
  };
}

export function effortOf(value: Json | undefined, at: string): Effort | null {
  if (value === undefined || value === null) return null;
  const effort = EFFORTS.find((known) => known === value);
  if (effort === undefined) throw cannot(at, `must be one of ${EFFORTS.join(", ")} for this model`);
  return effort;
}

/** The parts of a message. A text is one part; `read` reads the elements of an array. */
export function partsOf<Part>(
  content: Json | undefined,
  at: string,
  read: (part: Json, at: string) => Part,
): (Part | TextPart)[] {
  if (typeof content === "string") return [textPart(content, at)];
  if (!Array.isArray(content)) throw cannot(at, "must be a text, or an array of parts");
  return content.map((part: Json, index) => read(part, `${at}.${index}`));
}

export function textPart(text: string, at: string): TextPart {
  return { kind: "text", text, cache: null, at };
}

export function imagePart(source: MediaSource, detail: Json | undefined, at: string): ImagePart {
  return { kind: "image", source, detail: detail === "auto" ? null : textOf(detail), cache: null, at };
}

export function audioPart(audio: Json | undefined, at: string): AudioPart {
  const { data, format } = objectOf(audio);
  if (typeof data !== "string" || (format !== "wav" && format !== "mp3")) {
    throw cannot(at, "must have base64 data, and wav or mp3 as its format");
  }
  return { kind: "audio", data, format, cache: null, at };
}
