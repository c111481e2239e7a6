import {
  type Conversation,
  cannot,
  EFFORTS,
  EMPTY_CONVERSATION,
  type OutputFormat,
  type Reasoning,
  type Turn,
} from "../../conversation/conversation.ts";
import { ENCRYPTED_REASONING } from "../../conversation/response-format.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { addTools, ClientTools, readToolChoice } from "./client-tools.ts";
import { type ItemContext, readItems } from "./read-items.ts";

/** What the Responses API calls the fields of a conversation, where the names differ. */
const NAMES: Conversation["names"] = {
  turns: "input",
  maxTokens: "max_output_tokens",
  topP: "top_p",
  toolChoice: "tool_choice",
  parallelToolCalls: "parallel_tool_calls",
  format: "text.format",
  verbosity: "text.verbosity",
  serviceTier: "service_tier",
  promptCacheKey: "prompt_cache_key",
};

/** Codex sends these to every model that it does not know. */
const OPTIONAL: Conversation["optional"] = ["parallelToolCalls", "verbosity", "serviceTier"];

/** Fields that a conversation has, that the service decides about, or that say nothing about the answer. */
const READ = new Set([
  "background",
  "client_metadata",
  "conversation",
  "include",
  "input",
  "instructions",
  "max_output_tokens",
  "metadata",
  "model",
  "parallel_tool_calls",
  "previous_response_id",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "service_tier",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_p",
  "user",
]);

/** Values of other fields that ask for nothing special. */
const NEUTRAL: Readonly<Record<string, Json>> = { truncation: "disabled", top_logprobs: 0 };

/** How a request is read that may contain what this service has sealed or stored. */
export type ReadContext = Pick<ItemContext, "open" | "firstOwn">;

export interface ReadResponses {
  readonly conversation: Conversation;
  readonly tools: ClientTools;
}

/**
 * Reads a valid request of the Responses API. What only its own upstreams can do is left out and noted, because clients such as Codex
 * always offer hosted tools.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed in a conversation.
 */
export function readResponses(body: JsonObject, context: ReadContext): ReadResponses {
  const tools = new ClientTools();
  const dropped = [...addTools(tools, Array.isArray(body.tools) ? body.tools : [], "tools")];
  const input = Array.isArray(body.input) ? body.input : [];
  const items = readItems(input, { ...context, tools });
  const toolChoice = readToolChoice(body.tool_choice, tools, dropped.length > 0);
  const text = isJsonObject(body.text) ? body.text : {};
  const { reasoning } = body;
  const conversation: Conversation = {
    ...EMPTY_CONVERSATION,
    turns: [...instructionsOf(body), ...(typeof body.input === "string" ? [said(body.input)] : items.turns)],
    tools: tools.definitions,
    toolChoice,
    parallelToolCalls: typeof body.parallel_tool_calls === "boolean" ? body.parallel_tool_calls : null,
    maxTokens: numberOf(body.max_output_tokens),
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    format: formatOf(text.format),
    reasoning: isJsonObject(reasoning) ? reasoningOf(reasoning) : null,
    verbosity: textOf(text.verbosity),
    serviceTier: textOf(body.service_tier),
    promptCacheKey: textOf(body.prompt_cache_key),
    user: textOf(body.safety_identifier) ?? textOf(body.user),
    metadata: isJsonObject(body.metadata) ? body.metadata : null,
    names: NAMES,
    optional: OPTIONAL,
    ignored: [...ignoredFields(body), ...dropped, ...items.ignored],
  };
  return { conversation, tools };
}

function instructionsOf({ instructions }: JsonObject): Turn[] {
  if (typeof instructions !== "string" || instructions === "") return [];
  return [{ role: "system", parts: [{ kind: "text", text: instructions, cache: null, at: "instructions" }] }];
}

function said(text: string): Turn {
  return { role: "user", parts: [{ kind: "text", text, cache: null, at: "input" }] };
}

/** Fields without equivalent elsewhere. None of them changes what the model is asked. */
function ignoredFields(body: JsonObject): readonly string[] {
  const others = Object.entries(body).filter(([name, value]) => {
    if (value === undefined || value === null || READ.has(name)) return false;
    return !(Object.hasOwn(NEUTRAL, name) && NEUTRAL[name] === value);
  });
  const include = Array.isArray(body.include) ? body.include : [];
  const hasOther = include.some((value: Json) => value !== ENCRYPTED_REASONING);
  return [...others.map(([name]) => headerSafe(name)), ...(hasOther ? ["include"] : [])];
}

/** A field's name as a header may contain it. */
function headerSafe(name: string): string {
  return name.replace(/[^\w.-]/g, "?").slice(0, 64);
}

/** A schema's name and description stand beside it here, where chat completions nest them. */
function formatOf(format: Json | undefined): OutputFormat | null {
  if (!isJsonObject(format)) return null;
  if (format.type === "text") return { kind: "text" };
  if (format.type === "json_object") return { kind: "json" };
  if (format.type !== "json_schema")
    throw cannot("text.format.type", "must be text, json_object or json_schema");
  const { schema, name, description, strict } = format;
  return {
    kind: "schema",
    name: textOf(name),
    description: textOf(description),
    schema: isJsonObject(schema) ? schema : null,
    strict: typeof strict === "boolean" ? strict : null,
  };
}

function reasoningOf({ effort: asked, summary }: JsonObject): Reasoning | null {
  const hasEffort = asked !== undefined && asked !== null;
  const effort = EFFORTS.find((known) => known === asked) ?? null;
  if (hasEffort && effort === null)
    throw cannot("reasoning.effort", `must be one of ${EFFORTS.join(", ")} for this model`);
  // A summary alone does not ask for reasoning.
  if (effort === null) return null;
  return { effort, budgetTokens: null, summary: textOf(summary), isOptional: true };
}

function numberOf(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}
