import { type Conversation, cannot, nameOf, type Reasoning } from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import {
  type ConversationLimits,
  leftOutOf,
  producedImagesIn,
  requireExpressible,
} from "../conversation-limits.ts";
import type { ConversationCall } from "../dialect.ts";
import {
  answerToolName,
  given,
  givenList,
  nothingToRead,
  requireLastMessage,
  schemaOf,
  turnsWithUser,
  type WrittenConversation,
} from "../write-conversation.ts";
import { CacheBreakpoints } from "./cache-breakpoints.ts";
import { markedByKey } from "./cache-by-key.ts";
import { type ModelTraits, traitsOf } from "./models.ts";
import { isOutputSchema, outputSchema } from "./output-schema.ts";
import { isImage, promptOf } from "./prompt.ts";
import { isBlank, isWritten } from "./sides.ts";
import { isThinking, ownBudgetOf, type Thinking, thinkingOf, thinkingWithin } from "./thinking.ts";
import { answerToolFields, type ToolOptions, toolFields } from "./tools.ts";

const LIMITS: ConversationLimits = {
  unsupported: ["seed", "presencePenalty", "frequencyPenalty", "modalities", "imageConfig"],
  maxTemperature: 1,
  hasOneCallAtATime: true,
  hasLogprobs: false,
  hasFilename: (file) => !isImage(file),
};
const STRICT_TOOLS = "structured-outputs-2025-11-13";
const ANY_OBJECT: JsonObject = { type: "object", additionalProperties: true };
/** The longest id of a user that Anthropic takes. */
const MAX_USER_LENGTH = 256;

interface MessagesBody extends WrittenConversation {
  /** The features that the request needs. */
  readonly betas: readonly string[];
  /** The tool whose input is the answer; `null`: there is none. */
  readonly answerTool: string | null;
}

/**
 * A conversation as a request of Anthropic's Messages API.
 *
 * @param keepsInstructions Whether instructions within the conversation may be a message of their own, if the model takes that.
 * @throws {Failure} `invalid_request` naming what can't be expressed.
 */
export function messagesBodyOf(call: ConversationCall, keepsInstructions = true): MessagesBody {
  const { upstreamModel, stream } = call;
  requireExpressible(call.conversation, LIMITS);
  requireVisibleStops(call.conversation);
  const traits = traitsOf(upstreamModel);
  requireCompatible(call.conversation, traits);
  const hasLostThoughts = losesThoughts(call.conversation, traits);
  const conversation = hasLostThoughts ? { ...call.conversation, reasoning: null } : call.conversation;
  const { thinking, maxTokens } = tokensOf({ ...call, conversation }, traits);
  const breakpoints = new CacheBreakpoints();
  const prompt = promptOf(turnsWithUser(markedByKey(conversation).turns), {
    breakpoints,
    takesLateInstructions: keepsInstructions && traits.hasLateInstructions,
    isThinking: isThinking(thinking),
  });
  if (prompt.messages.length === 0) throw nothingToRead(conversation);
  requireLastMessage(conversation, prompt.messages.at(-1)?.role === "assistant");
  const sampling = samplingOf(conversation, thinking, traits);
  const output = outputOf({ conversation, traits, thinking, breakpoints, stream });
  const { effort, field } = thinking;
  const hasConfig = effort !== null || output.format !== null;
  const body: JsonObject = {
    model: upstreamModel,
    max_tokens: maxTokens,
    ...sampling.fields,
    stop_sequences: givenList(conversation.stop),
    thinking: given(field),
    output_config: hasConfig ? { effort: given(effort), format: given(output.format) } : undefined,
    metadata: metadataOf(conversation),
    system: given(prompt.system),
    messages: prompt.messages,
    ...output.tools,
    stream: stream || undefined,
  };
  const ignored = [
    ...leftOutOf(conversation, LIMITS),
    ...producedImagesIn(conversation),
    ...sampling.ignored,
    ...(thinking.isBudgetIgnored || hasLostThoughts ? [nameOf(conversation, "reasoning")] : []),
    ...output.ignored,
    ...(breakpoints.isExceeded ? ["cache_control"] : []),
  ];
  return { body, betas: [...prompt.betas, ...output.betas], answerTool: output.answerTool, ignored };
}

/** Refuses texts of nothing but white space, which Anthropic does not stop at. Without them the answer would be longer than it was asked to be. */
function requireVisibleStops(conversation: Conversation): void {
  if (!conversation.stop.some(isBlank)) return;
  const reason =
    "must not have a text of nothing but white space for this model; remove that text, and cut the answer off yourself";
  throw cannot(nameOf(conversation, "stop"), reason);
}

/** Refuses fields that Anthropic does not take together. Models without sampling parameters are asked for none. */
function requireCompatible(conversation: Conversation, { hasSampling }: ModelTraits): void {
  const { temperature, toolChoice, reasoning } = conversation;
  const topP = topPOf(conversation);
  const name = (field: keyof Conversation) => nameOf(conversation, field);
  if (!asksForThoughts(reasoning)) return;
  const together = `cannot be combined with ${name("reasoning")} for this model`;
  // With thinking, 1 is the only possible temperature.
  if (hasSampling && temperature !== null && temperature !== 1) throw cannot(name("temperature"), together);
  if (hasSampling && topP !== null) throw cannot(name("topP"), together);
  if (toolChoice?.kind === "required" || toolChoice?.kind === "tool") {
    throw cannot(name("toolChoice"), `must be auto or none with ${name("reasoning")} for this model`);
  }
}

function asksForThoughts(reasoning: Reasoning | null): boolean {
  return reasoning !== null && reasoning.effort !== "none";
}

/** All of the probability is what the model uses anyway. */
function topPOf({ topP }: Conversation): number | null {
  return topP === 1 ? null : topP;
}

/**
 * Whether the results of tools follow calls whose thoughts the client has not sent back, which most clients of chat completions do not do. A
 * model with a budget then refuses to think; it does again when the user says something.
 */
function losesThoughts({ turns, reasoning }: Conversation, traits: ModelTraits): boolean {
  if (turns.at(-1)?.role !== "tool" || thinkingOf(reasoning, traits).field?.type !== "enabled") return false;
  const start = turns.findLastIndex(({ role }) => role === "user" || role === "system");
  return !turns
    .slice(start + 1)
    .some(({ parts }) => parts.some((part) => part.kind === "reasoning" && isWritten(part)));
}

/**
 * The thinking and the maximum of the request, which contains both thinking and answer. It is never more than is paid for. A client's own
 * maximum is that of the answer beside an effort, and contains the thinking beside a budget, as it does for Anthropic.
 *
 * @throws {Failure} `invalid_request` when nothing is left for the answer.
 */
function tokensOf(
  { conversation, maxTokens: paid }: ConversationCall,
  traits: ModelTraits,
): { readonly thinking: Thinking; readonly maxTokens: number } {
  const { reasoning } = conversation;
  const thinking = thinkingOf(reasoning, traits);
  const budget = thinking.budgetTokens ?? 0;
  const { maxTokens: asked } = conversation;
  const isWithin = asked !== null && reasoning !== null && ownBudgetOf(reasoning) !== null;
  if (isWithin && budget >= asked) {
    const reason = `needs ${nameOf(conversation, "maxTokens")} of more than ${budget} tokens, which the thoughts may take`;
    throw cannot(nameOf(conversation, "reasoning"), reason);
  }
  const wanted = (asked ?? paid ?? traits.maxTokens) + (isWithin ? 0 : budget);
  const maxTokens = traits.isKnown ? Math.min(wanted, traits.maxTokens) : wanted;
  if (reasoning === null) return { thinking, maxTokens };
  if (paid !== null && maxTokens > paid) {
    return { thinking: thinkingWithin(thinking, paid, conversation), maxTokens: paid };
  }
  const isTooLarge = budget >= maxTokens;
  return { thinking: isTooLarge ? thinkingWithin(thinking, maxTokens, conversation) : thinking, maxTokens };
}

interface Sampling {
  readonly fields: JsonObject;
  readonly ignored: readonly string[];
}

/**
 * The sampling parameters, which are ignored by models without them, and while a model thinks. Clients have settings for temperature and
 * `top_p`, and send both to every model: those that take one of them get the temperature, if it is not the default.
 */
function samplingOf(conversation: Conversation, thinking: Thinking, traits: ModelTraits): Sampling {
  const { reasoning, temperature, topK } = conversation;
  const topP = topPOf(conversation);
  const isEither = topP !== null && !traits.hasTopPWithTemperature;
  // A temperature of 1 is Anthropic's default: it says nothing with thinking, or where `top_p` takes its place.
  const isUsual = temperature === 1 && (isEither || asksForThoughts(reasoning));
  const asked = [
    ["temperature", "temperature", isUsual ? null : temperature],
    ["topK", "top_k", topK],
    ["topP", "top_p", topP],
  ] as const;
  const wanted = asked.filter(([, , value]) => value !== null);
  const isTaken = traits.hasSampling && !isThinking(thinking);
  const isTopPTaken = isTaken && (temperature === null || isUsual || traits.hasTopPWithTemperature);
  const taken = wanted.filter(([field]) => (field === "topP" ? isTopPTaken : isTaken));
  return {
    fields: Object.fromEntries(taken.map(([, name, value]) => [name, value])),
    ignored: wanted.filter((one) => !taken.includes(one)).map(([field]) => nameOf(conversation, field)),
  };
}

interface Output {
  readonly tools: JsonObject;
  readonly betas: readonly string[];
  /** The format of the answer in `output_config`. */
  readonly format: JsonObject | null;
  readonly answerTool: string | null;
  readonly ignored: readonly string[];
}

/** What the model is to produce: text, calls of tools, or JSON by a schema. */
function outputOf(options: ToolOptions): Output {
  const { conversation, traits } = options;
  const { tools, format } = conversation;
  // Anthropic has no JSON without a schema, and its structured outputs no object of any members. The input of a tool may be one.
  const schema = format?.kind === "json" ? ANY_OBJECT : schemaOf(format);
  const isStrictIgnored = !traits.hasOutputSchemas && tools.some(({ strict }) => strict === true);
  const ignored: string[] = isStrictIgnored ? ["strict"] : [];
  if (schema !== null && !(traits.hasOutputSchemas && isOutputSchema(schema))) {
    const answerTool = answerToolName(tools);
    const fields = answerToolFields(answerTool, schema, options);
    return { tools: fields, betas: [], format: null, answerTool, ignored };
  }
  const { fields, isChoiceIgnored } = toolFields(options);
  if (isChoiceIgnored) ignored.push(nameOf(conversation, "toolChoice"));
  if (schema === null && format?.kind === "schema") ignored.push(nameOf(conversation, "format"));
  return {
    tools: fields,
    betas: tools.length > 0 && traits.hasOutputSchemas ? [STRICT_TOOLS] : [],
    format: schema === null ? null : { type: "json_schema", schema: outputSchema(schema) },
    answerTool: null,
    ignored,
  };
}

/** A longer id would be refused. */
function metadataOf({ user }: Conversation): JsonObject | undefined {
  return user === null || user.length > MAX_USER_LENGTH ? undefined : { user_id: user };
}
