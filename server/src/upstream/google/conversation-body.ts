import type { Conversation, Tool } from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import type { ConversationCall } from "../dialect.ts";
import { type ConversationLimits, leftOutOf, requireExpressible } from "../expressible.ts";
import { type ModelTraits, traitsOf } from "./models.ts";
import { outputSchema } from "./output-schema.ts";
import { promptOf } from "./prompt.ts";
import { thinkingOf } from "./thinking.ts";
import { toolFields, withAnswerTool } from "./tools.ts";

const LIMITS: ConversationLimits = {
  unsupported: new Set(["presencePenalty", "frequencyPenalty"]),
  maxTemperature: 2,
  hasOneCallAtATime: false,
};

export interface ContentBody {
  readonly body: JsonObject;
  /** The tool whose input is the answer; `null`: there is none. */
  readonly answerTool: string | null;
  /** What the model has no equivalent of, by the client's names. */
  readonly ignored: readonly string[];
}

/** A conversation as a request of Google's Gemini API. @throws {Failure} `invalid_request` naming what can't be expressed. */
export function contentBodyOf({
  conversation,
  upstreamModel,
  maxTokens: paid,
}: ConversationCall): ContentBody {
  requireExpressible(conversation, LIMITS);
  const traits = traitsOf(upstreamModel);
  const { format, tools, answerTool } = outputOf(conversation, traits);
  const config: JsonObject = {
    ...samplingOf(conversation, conversation.maxTokens ?? paid),
    ...format,
    ...given("thinkingConfig", thinkingOf(conversation.reasoning, traits)),
  };
  const { instructions, contents } = promptOf(conversation.turns, traits);
  const body: JsonObject = {
    generationConfig: config,
    ...(instructions.length === 0 ? {} : { systemInstruction: { parts: instructions } }),
    contents,
    ...tools,
  };
  return { body, answerTool, ignored: leftOutOf(conversation, LIMITS) };
}

function samplingOf(conversation: Conversation, maxTokens: number | null): JsonObject {
  const { temperature, topP, topK, seed, stop } = conversation;
  return {
    ...given("maxOutputTokens", maxTokens),
    ...given("temperature", temperature),
    // All of the probability is what the model uses anyway.
    ...given("topP", topP === 1 ? null : topP),
    ...given("topK", topK),
    ...given("seed", seed),
    ...(stop.length === 0 ? {} : { stopSequences: stop }),
  };
}

function given(name: string, value: JsonObject | number | null): JsonObject {
  return value === null ? {} : { [name]: value };
}

interface Output {
  /** The fields of `generationConfig` for the format of the answer. */
  readonly format: JsonObject;
  /** The fields of the request for tools. */
  readonly tools: JsonObject;
  readonly answerTool: string | null;
}

/** What the model is to produce: text, calls of tools, or JSON, by a schema or without. */
function outputOf(conversation: Conversation, traits: ModelTraits): Output {
  const { format, tools } = conversation;
  const schema = format?.kind === "schema" ? format.schema : null;
  if (schema !== null && needsAnswerTool(conversation, traits)) {
    const answerTool = freeName(tools);
    const asked = withAnswerTool(conversation, answerTool, schema);
    return { format: {}, tools: toolFields(asked), answerTool };
  }
  const isJson = format !== null && format.kind !== "text";
  return {
    format: {
      ...(isJson ? { responseMimeType: "application/json" } : {}),
      ...(schema === null ? {} : { responseJsonSchema: outputSchema(schema) }),
    },
    tools: toolFields(conversation),
    answerTool: null,
  };
}

/** Models take a schema and tools together only if they are free to call none, and older ones not even then. */
function needsAnswerTool({ tools, toolChoice }: Conversation, traits: ModelTraits): boolean {
  if (tools.length === 0 || !traits.hasAnswerTool) return false;
  return !traits.hasSchemaWithTools || toolChoice?.kind === "required" || toolChoice?.kind === "tool";
}

/** A name that no tool of the client has. */
function freeName(tools: readonly Tool[]): string {
  const names = new Set(tools.map(({ name }) => name));
  let name = "json";
  for (let suffix = 1; names.has(name); suffix++) name = `json_${suffix}`;
  return name;
}
