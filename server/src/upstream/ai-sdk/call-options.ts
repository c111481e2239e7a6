import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import type { Conversation, OutputFormat, Tool, ToolChoice } from "../../conversation/conversation.ts";
import { requireExpressible } from "../expressible.ts";
import { promptOf } from "./prompt.ts";
import type { ProviderLimits } from "./provider.ts";

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
  requireExpressible(conversation, limits);
  const { tools, format } = conversation;
  // All of the probability is what the model uses anyway.
  const topP = conversation.topP === 1 ? null : conversation.topP;
  const optional = {
    maxOutputTokens: conversation.maxTokens ?? maxTokens,
    temperature: conversation.temperature,
    topP,
    topK: conversation.topK,
    presencePenalty: nonZero(conversation.presencePenalty),
    frequencyPenalty: nonZero(conversation.frequencyPenalty),
    seed: conversation.seed,
    stopSequences: conversation.stop.length === 0 ? null : [...conversation.stop],
    tools: tools.length === 0 ? null : toolsOf(tools),
    toolChoice: tools.length === 0 ? null : toolChoiceOf(conversation.toolChoice),
    responseFormat: responseFormatOf(format),
    reasoning: conversation.reasoning?.effort ?? null,
    providerOptions: providerOptionsOf(conversation, limits),
  };
  return {
    prompt: promptOf(conversation.turns, limits),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
  };
}

function nonZero(value: number | null): number | null {
  return value === 0 ? null : value;
}

function toolsOf(tools: readonly Tool[]): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, parameters, strict }) => ({
    type: "function",
    name,
    ...(description === null ? {} : { description }),
    inputSchema: (parameters ?? { type: "object", properties: {} }) as JSONSchema7,
    ...(strict === null ? {} : { strict }),
  }));
}

function toolChoiceOf(choice: ToolChoice | null): LanguageModelV4ToolChoice | null {
  if (choice === null) return null;
  return choice.kind === "tool" ? { type: "tool", toolName: choice.name } : { type: choice.kind };
}

function responseFormatOf(format: OutputFormat | null): LanguageModelV4CallOptions["responseFormat"] | null {
  if (format === null || format.kind === "text") return null;
  if (format.kind === "json") return { type: "json" };
  const { schema, name, description } = format;
  return {
    type: "json",
    ...(schema === null ? {} : { schema: schema as JSONSchema7 }),
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
  };
}

function providerOptionsOf(
  { reasoning }: Conversation,
  { thinkingOf, optionsName }: ProviderLimits,
): LanguageModelV4CallOptions["providerOptions"] | null {
  if (reasoning === null || reasoning.effort !== null || thinkingOf === null) return null;
  return { [optionsName]: thinkingOf(reasoning.budgetTokens) };
}
