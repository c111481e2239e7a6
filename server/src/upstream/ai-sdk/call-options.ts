import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import {
  type Conversation,
  cannot,
  nameOf,
  type OutputFormat,
  type ToolChoice,
} from "../../conversation/conversation.ts";
import { cacheOptions, promptOf } from "./prompt.ts";
import type { ProviderLimits } from "./provider.ts";

const UNSUPPORTED = "is not supported by this model's provider; remove it, or choose another model";

/**
 * A conversation as the AI SDK has it. What would change the answer and can't be expressed is refused, never dropped.
 *
 * @throws {Failure} `invalid_request` naming the field.
 */
export function callOptionsOf(
  conversation: Conversation,
  limits: ProviderLimits,
  maxTokens: number | null,
): LanguageModelV4CallOptions {
  for (const field of unsupportedBy(conversation, limits)) {
    if (!conversation.optional.includes(field)) throw cannot(nameOf(conversation, field), UNSUPPORTED);
  }
  requireExpressible(conversation, limits);
  const { tools, temperature, reasoning } = conversation;
  // All of the probability is what the model uses anyway.
  const topP = conversation.topP === 1 ? null : conversation.topP;
  requireCompatible(conversation, topP, limits);
  const effort = reasoning?.effort ?? null;
  const isThinking = effort !== null && effort !== "none";
  const optional = {
    maxOutputTokens: conversation.maxTokens ?? maxTokens,
    // With thinking, 1 is the only possible temperature.
    temperature: limits.thinksAlone && isThinking ? null : temperature,
    topP,
    topK: conversation.topK,
    presencePenalty: nonZero(conversation.presencePenalty),
    frequencyPenalty: nonZero(conversation.frequencyPenalty),
    seed: conversation.seed,
    stopSequences: conversation.stop.length === 0 ? null : [...conversation.stop],
    tools: tools.length === 0 ? null : toolsOf(conversation, limits),
    toolChoice: tools.length === 0 ? null : toolChoiceOf(conversation.toolChoice),
    responseFormat: responseFormatOf(conversation, limits),
    reasoning: effort,
    providerOptions: providerOptionsOf(conversation, limits),
  };
  return {
    prompt: promptOf(conversation.turns, limits),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
  };
}

/** Optional fields that the provider has no equivalent of, by the client's names. They are left out. */
export function leftOutOf(conversation: Conversation, limits: ProviderLimits): readonly string[] {
  return unsupportedBy(conversation, limits).map((field) => nameOf(conversation, field));
}

function unsupportedBy(
  { verbosity, serviceTier, parallelToolCalls, tools }: Conversation,
  { oneCallAtATime }: ProviderLimits,
): readonly (keyof Conversation)[] {
  const isOneAtATime = parallelToolCalls === false && tools.length > 0;
  return [
    ...(verbosity === null || verbosity === "medium" ? [] : (["verbosity"] as const)),
    ...(serviceTier === null || serviceTier === "auto" || serviceTier === "default"
      ? []
      : (["serviceTier"] as const)),
    ...(isOneAtATime && oneCallAtATime === null ? (["parallelToolCalls"] as const) : []),
  ];
}

function requireExpressible(
  conversation: Conversation,
  { unsupported, maxTemperature }: ProviderLimits,
): void {
  for (const name of conversation.others.keys()) throw cannot(name, UNSUPPORTED);
  const { temperature } = conversation;
  for (const field of unsupported) {
    const value = conversation[field];
    const isNeutral = value === null || (value === 0 && field !== "seed");
    if (!isNeutral) throw cannot(nameOf(conversation, field), UNSUPPORTED);
  }
  if (temperature !== null && temperature > maxTemperature) {
    throw cannot(nameOf(conversation, "temperature"), `must be at most ${maxTemperature} for this model`);
  }
}

/** Refuses fields that the provider does not take together. */
function requireCompatible(conversation: Conversation, topP: number | null, limits: ProviderLimits): void {
  const { temperature, toolChoice, reasoning } = conversation;
  if (limits.hasOneOfTemperatureAndTopP && temperature !== null && topP !== null) {
    throw cannot(
      nameOf(conversation, "topP"),
      `cannot be combined with ${nameOf(conversation, "temperature")} for this model`,
    );
  }
  const effort = reasoning?.effort ?? null;
  if (!limits.thinksAlone || effort === null || effort === "none") return;
  const together = `cannot be combined with ${nameOf(conversation, "reasoning")} for this model`;
  if (temperature !== null && temperature !== 1) throw cannot(nameOf(conversation, "temperature"), together);
  if (topP !== null) throw cannot(nameOf(conversation, "topP"), together);
  if (toolChoice?.kind === "required" || toolChoice?.kind === "tool") {
    throw cannot(
      nameOf(conversation, "toolChoice"),
      `must be auto or none with ${nameOf(conversation, "reasoning")} for this model`,
    );
  }
}

function nonZero(value: number | null): number | null {
  return value === 0 ? null : value;
}

function toolsOf({ tools }: Conversation, { optionsName }: ProviderLimits): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, parameters, strict, cache }) => ({
    type: "function",
    name,
    ...(description === null ? {} : { description }),
    inputSchema: (parameters ?? { type: "object", properties: {} }) as JSONSchema7,
    ...(strict === null ? {} : { strict }),
    ...cacheOptions(cache, optionsName),
  }));
}

function toolChoiceOf(choice: ToolChoice | null): LanguageModelV4ToolChoice | null {
  if (choice === null) return null;
  return choice.kind === "tool" ? { type: "tool", toolName: choice.name } : { type: choice.kind };
}

function responseFormatOf(
  conversation: Conversation,
  { hasJsonWithoutSchema }: ProviderLimits,
): LanguageModelV4CallOptions["responseFormat"] | null {
  const format: OutputFormat | null = conversation.format;
  if (format === null || format.kind === "text") return null;
  if (format.kind === "json") {
    if (hasJsonWithoutSchema) return { type: "json" };
    throw cannot(nameOf(conversation, "format"), "must be text or json_schema for this model");
  }
  const { schema, name, description } = format;
  return {
    type: "json",
    ...(schema === null ? {} : { schema: schema as JSONSchema7 }),
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
  };
}

function providerOptionsOf(
  conversation: Conversation,
  { oneCallAtATime, thinkingOf, optionsName }: ProviderLimits,
): LanguageModelV4CallOptions["providerOptions"] | null {
  const { parallelToolCalls, tools, reasoning } = conversation;
  const isOneAtATime = parallelToolCalls === false && tools.length > 0;
  const options = {
    ...(isOneAtATime ? oneCallAtATime : {}),
    ...(reasoning !== null && reasoning.effort === null ? thinkingOf?.(reasoning.budgetTokens) : {}),
  };
  return Object.keys(options).length === 0 ? null : { [optionsName]: options };
}
