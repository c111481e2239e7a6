import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { cannot, promptOf } from "./prompt.ts";
import type { ProviderLimits } from "./provider.ts";

/** Fields that are translated, below. */
const TRANSLATED = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "stop",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "reasoning_effort",
]);
/** Fields that say something about the request, and nothing about its answer. */
const NOTES = new Set([
  "user",
  "metadata",
  "store",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
]);
/** Values that ask for nothing special. */
const NEUTRAL: Readonly<Record<string, (value: Json) => boolean>> = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: (value) => isJsonObject(value) && Object.keys(value).length === 0,
  service_tier: (value) => value === "auto" || value === "default",
  modalities: (value) => Array.isArray(value) && value.length === 1 && value[0] === "text",
  verbosity: (value) => value === "medium",
  presence_penalty: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
};
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/**
 * A chat request as the AI SDK has it. What would change the answer and can't be expressed is refused, never dropped.
 *
 * @throws {Failure} `invalid_request` naming the field.
 */
export function callOptionsOf(
  body: JsonObject,
  limits: ProviderLimits,
  maxTokens: number | null,
): LanguageModelV4CallOptions {
  const given = new Map(
    Object.entries(body).filter((pair): pair is [string, Json] => pair[1] !== undefined && pair[1] !== null),
  );
  for (const [name, value] of given) requireExpressible(name, value, limits);
  const number = (name: string) => {
    const value = given.get(name);
    return typeof value === "number" ? value : undefined;
  };
  const temperature = number("temperature");
  if (temperature !== undefined && temperature > limits.maxTemperature) {
    throw cannot("temperature", `must be at most ${limits.maxTemperature} for this model`);
  }
  // All of the probability is what there is without it.
  const topP = number("top_p") === 1 ? undefined : number("top_p");
  if (limits.hasOneOfTemperatureAndTopP && temperature !== undefined && topP !== undefined) {
    throw cannot("top_p", "cannot be combined with temperature for this model");
  }
  const tools = toolsOf(given.get("tools"));
  const toolChoice = toolChoiceOf(given.get("tool_choice"), tools !== undefined);
  const reasoning = reasoningOf(given.get("reasoning_effort"));
  const isThinking = reasoning !== undefined && reasoning !== "none";
  if (limits.thinksAlone && isThinking) {
    if (temperature !== undefined && temperature !== 1)
      throw cannot("temperature", "cannot be combined with reasoning_effort for this model");
    if (topP !== undefined) throw cannot("top_p", "cannot be combined with reasoning_effort for this model");
    if (toolChoice?.type === "required" || toolChoice?.type === "tool") {
      throw cannot("tool_choice", "must be auto or none with reasoning_effort for this model");
    }
  }
  const optional = {
    maxOutputTokens: number("max_completion_tokens") ?? number("max_tokens") ?? maxTokens ?? undefined,
    // With thinking, 1 is the only one there is.
    temperature: limits.thinksAlone && isThinking ? undefined : temperature,
    topP,
    presencePenalty: nonZero(number("presence_penalty")),
    frequencyPenalty: nonZero(number("frequency_penalty")),
    seed: number("seed"),
    stopSequences: stopsOf(given.get("stop")),
    tools,
    toolChoice,
    responseFormat: responseFormatOf(given.get("response_format"), limits),
    reasoning,
    providerOptions: parallelOptions(given.get("parallel_tool_calls"), tools !== undefined, limits),
  };
  const { messages } = body;
  return {
    prompt: promptOf(Array.isArray(messages) ? messages : []),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  };
}

function requireExpressible(name: string, value: Json, { unsupported }: ProviderLimits): void {
  const isNeutral = Object.hasOwn(NEUTRAL, name) ? NEUTRAL[name] : undefined;
  if (NOTES.has(name) || isNeutral?.(value) === true) return;
  if (TRANSLATED.has(name) && !unsupported.has(name)) return;
  throw cannot(name, "is not supported by this model's provider; remove it, or choose another model");
}

function nonZero(value: number | undefined): number | undefined {
  return value === 0 ? undefined : value;
}

function stopsOf(value: Json | undefined): string[] | undefined {
  if (value === undefined) return undefined;
  const stops = typeof value === "string" ? [value] : value;
  if (!Array.isArray(stops)) return undefined;
  return stops.filter((stop): stop is string => typeof stop === "string");
}

function toolsOf(value: Json | undefined): LanguageModelV4FunctionTool[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.map((tool: Json, index) => {
    const called = isJsonObject(tool) && tool.type === "function" ? tool.function : null;
    if (!isJsonObject(called) || typeof called.name !== "string") {
      throw cannot(`tools.${index}`, "must be a function for this model");
    }
    const { name, description, parameters, strict } = called;
    const schema = isJsonObject(parameters) ? parameters : { type: "object", properties: {} };
    return {
      type: "function",
      name,
      ...(typeof description === "string" ? { description } : {}),
      inputSchema: schema as JSONSchema7,
      ...(typeof strict === "boolean" ? { strict } : {}),
    };
  });
}

function toolChoiceOf(value: Json | undefined, hasTools: boolean): LanguageModelV4ToolChoice | undefined {
  if (value === undefined || (!hasTools && (value === "auto" || value === "none"))) return undefined;
  if (!hasTools) throw cannot("tool_choice", "requires tools");
  if (value === "auto" || value === "none" || value === "required") return { type: value };
  const called = isJsonObject(value) && value.type === "function" ? value.function : null;
  if (isJsonObject(called) && typeof called.name === "string") return { type: "tool", toolName: called.name };
  throw cannot("tool_choice", "must be auto, none, required or one function for this model");
}

function responseFormatOf(
  value: Json | undefined,
  { hasJsonWithoutSchema }: ProviderLimits,
): LanguageModelV4CallOptions["responseFormat"] {
  if (!isJsonObject(value) || value.type === "text") return undefined;
  if (value.type === "json_object" && !hasJsonWithoutSchema) {
    throw cannot("response_format", "must be text or json_schema for this model");
  }
  if (value.type === "json_object") return { type: "json" };
  const format = value.type === "json_schema" ? value.json_schema : null;
  if (!isJsonObject(format)) throw cannot("response_format", "must be text, json_object or json_schema");
  const { schema, name, description } = format;
  return {
    type: "json",
    ...(isJsonObject(schema) ? { schema: schema as JSONSchema7 } : {}),
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof description === "string" ? { description } : {}),
  };
}

function reasoningOf(value: Json | undefined): LanguageModelV4CallOptions["reasoning"] {
  if (value === undefined) return undefined;
  const effort = EFFORTS.find((known) => known === value);
  if (effort === undefined) throw cannot("reasoning_effort", `must be one of ${EFFORTS.join(", ")}`);
  return effort;
}

function parallelOptions(
  value: Json | undefined,
  hasTools: boolean,
  { oneCallAtATime, optionsName }: ProviderLimits,
): LanguageModelV4CallOptions["providerOptions"] {
  if (value !== false || !hasTools) return undefined;
  if (oneCallAtATime === null) throw cannot("parallel_tool_calls", "cannot be turned off for this model");
  return { [optionsName]: { ...oneCallAtATime } };
}
