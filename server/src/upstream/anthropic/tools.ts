import type { Conversation, Tool, ToolChoice } from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import { given } from "../write-conversation.ts";
import type { CacheBreakpoints } from "./cache-breakpoints.ts";
import { inputSchema } from "./input-schema.ts";
import type { ModelTraits } from "./models.ts";
import type { Thinking } from "./thinking.ts";

export interface ToolOptions {
  readonly conversation: Conversation;
  readonly traits: ModelTraits;
  readonly thinking: Thinking;
  readonly breakpoints: CacheBreakpoints;
  readonly stream: boolean;
}

/** The fields of a request that have to do with tools. */
interface ToolFields {
  readonly fields: JsonObject;
  /** Whether the model can't be made to call a tool, so that it is only offered. */
  readonly isChoiceIgnored: boolean;
}

export function toolFields(options: ToolOptions): ToolFields {
  const { conversation } = options;
  const { tools, toolChoice } = conversation;
  if (tools.length === 0) return { fields: {}, isChoiceIgnored: false };
  const isForced = toolChoice?.kind === "required" || toolChoice?.kind === "tool";
  const isChoiceIgnored = isForced && !canForce(options);
  const choice = isChoiceIgnored ? ({ kind: "auto" } as const) : toolChoice;
  const offered = isChoiceIgnored ? chosenTools(tools, toolChoice) : tools;
  return {
    fields: {
      tools: offered.map((tool) => toolOf(tool, options)),
      tool_choice: toolChoiceOf(choice, conversation),
    },
    isChoiceIgnored,
  };
}

/** Asks for an answer as the input of a tool, for models and schemas without structured outputs. */
export function answerToolFields(name: string, schema: JsonObject, options: ToolOptions): JsonObject {
  const { tools, toolChoice } = options.conversation;
  const answerTool = {
    name,
    description: "Respond with a JSON object.",
    input_schema: inputSchema(schema),
    eager_input_streaming: options.stream || undefined,
  };
  return {
    tools: [...chosenTools(tools, toolChoice).map((tool) => toolOf(tool, options)), answerTool],
    tool_choice: { type: canForce(options) ? "any" : "auto", disable_parallel_tool_use: true },
  };
}

/** A model does not think before a call that it is made to make, and some can't be made to. */
function canForce({ traits, thinking }: ToolOptions): boolean {
  return traits.hasForcedCalls && thinking.field?.type !== "enabled";
}

function chosenTools(tools: readonly Tool[], choice: ToolChoice | null): readonly Tool[] {
  if (choice?.kind === "none") return [];
  return choice?.kind === "tool" ? tools.filter(({ name }) => name === choice.name) : tools;
}

function toolOf(
  { name, description, parameters, strict, cache }: Tool,
  { traits, breakpoints, stream }: ToolOptions,
): JsonObject {
  return {
    name,
    description: given(description),
    input_schema: parameters === null ? { type: "object", properties: {} } : inputSchema(parameters),
    ...breakpoints.of(cache),
    // Otherwise a stream is silent until the whole input of a call was checked.
    eager_input_streaming: stream || undefined,
    strict: traits.hasOutputSchemas ? given(strict) : undefined,
  };
}

function toolChoiceOf(
  choice: ToolChoice | null,
  { parallelToolCalls }: Conversation,
): JsonObject | undefined {
  const oneAtATime = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  switch (choice?.kind) {
    case undefined:
      return parallelToolCalls === false ? { type: "auto", ...oneAtATime } : undefined;
    case "none":
      return { type: "none" };
    case "auto":
      return { type: "auto", ...oneAtATime };
    case "required":
      return { type: "any", ...oneAtATime };
    case "tool":
      return { type: "tool", name: choice.name, ...oneAtATime };
  }
}
