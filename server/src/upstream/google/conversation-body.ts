import type { Conversation } from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import { type ConversationLimits, leftOutOf, requireExpressible } from "../conversation-limits.ts";
import type { ConversationCall } from "../dialect.ts";
import {
  answerToolName,
  given,
  givenList,
  nothingToRead,
  requireLastMessage,
  turnsWithUser,
  type WrittenConversation,
} from "../write-conversation.ts";
import { type ModelTraits, traitsOf } from "./models.ts";
import { outputSchema } from "./output-schema.ts";
import { promptOf } from "./prompt.ts";
import { thinkingOf } from "./thinking.ts";
import { toolFields, withAnswerTool } from "./tools.ts";

const LIMITS: ConversationLimits = {
  unsupported: ["presencePenalty", "frequencyPenalty"],
  maxTemperature: 2,
  hasOneCallAtATime: false,
  hasLogprobs: true,
  hasFilename: () => false,
};

interface ContentBody extends WrittenConversation {
  /** The tool whose input is the answer; `null`: there is none. */
  readonly answerTool: string | null;
}

/** A conversation as a request of Google's Gemini API. @throws {Failure} `invalid_request` naming what can't be expressed. */
export function contentBodyOf({ conversation, upstreamModel, maxTokens }: ConversationCall): ContentBody {
  requireExpressible(conversation, LIMITS);
  const traits = traitsOf(upstreamModel);
  const { format, tools, answerTool } = outputOf(conversation, traits);
  const { instructions, contents } = promptOf(turnsWithUser(conversation.turns), traits);
  if (contents.length === 0) throw nothingToRead(conversation);
  requireLastMessage(conversation, contents.at(-1)?.role === "model");
  const body: JsonObject = {
    generationConfig: {
      maxOutputTokens: given(conversation.maxTokens ?? maxTokens),
      temperature: given(conversation.temperature),
      // All of the probability is what the model uses anyway.
      topP: conversation.topP === 1 ? undefined : given(conversation.topP),
      topK: given(conversation.topK),
      seed: given(conversation.seed),
      stopSequences: givenList(conversation.stop),
      responseLogprobs: conversation.logprobs === null ? undefined : true,
      logprobs: conversation.logprobs === 0 ? undefined : given(conversation.logprobs),
      ...format,
      responseModalities: givenList(conversation.modalities.map((modality) => modality.toUpperCase())),
      imageConfig: imageConfigOf(conversation),
      thinkingConfig: thinkingOf(conversation.reasoning, traits),
    },
    systemInstruction: instructions.length === 0 ? undefined : { parts: instructions },
    contents,
    ...tools,
  };
  return { body, answerTool, ignored: leftOutOf(conversation, LIMITS) };
}

function imageConfigOf({ imageConfig }: Conversation): JsonObject | undefined {
  if (imageConfig === null) return undefined;
  return { aspectRatio: given(imageConfig.aspectRatio), imageSize: given(imageConfig.size) };
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
    const answerTool = answerToolName(tools);
    return { format: {}, tools: toolFields(withAnswerTool(conversation, answerTool, schema)), answerTool };
  }
  const isJson = format !== null && format.kind !== "text";
  return {
    format: {
      responseMimeType: isJson ? "application/json" : undefined,
      responseJsonSchema: schema === null ? undefined : outputSchema(schema),
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
