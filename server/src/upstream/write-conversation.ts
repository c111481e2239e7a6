import {
  type Conversation,
  cannot,
  type Effort,
  type FilePart,
  NOTHING_TO_READ,
  nameOf,
  type OutputFormat,
  type Reasoning,
  type TextPart,
  type Tool,
  type ToolCallPart,
  type Turn,
  UNSUPPORTED,
  type UserPart,
} from "../conversation/conversation.ts";
import type { Failure } from "../errors/failure.ts";
import { BoundedParser } from "../json/bounded-parser.ts";
import { exactJson, parseExact } from "../json/exact-numbers.ts";
import type { JsonObject } from "../json/json.ts";

/** A conversation as a provider's request. */
export interface WrittenConversation {
  readonly body: JsonObject;
  /** What the provider has no equivalent of, by the client's names. */
  readonly ignored: readonly string[];
}

/** What a provider can't express. Requests that need it are refused, because their answers would differ from what they ask for. */
export interface ConversationLimits {
  /** Fields that it does not support. */
  readonly unsupported: readonly (keyof Conversation)[];
  readonly maxTemperature: number;
  /** Whether a request can limit it to one call at a time. */
  readonly hasOneCallAtATime: boolean;
  /** Whether its answers can have the probabilities of their tokens. */
  readonly hasLogprobs: boolean;
  /** Whether its request has a place for the name of a file. */
  readonly hasFilename: (file: FilePart) => boolean;
}

/** @throws {Failure} `invalid_request` naming the field that can't be expressed. */
export function requireExpressible(conversation: Conversation, limits: ConversationLimits): void {
  for (const field of withoutEquivalent(conversation, limits)) {
    if (!conversation.optional.includes(field)) throw unsupported(nameOf(conversation, field));
  }
  requireSupported(conversation, limits.unsupported);
  const { temperature } = conversation;
  const { maxTemperature } = limits;
  if (temperature !== null && temperature > maxTemperature) {
    throw cannot(nameOf(conversation, "temperature"), `must be at most ${maxTemperature} for this model`);
  }
}

/**
 * Refuses fields that only the client's own format has, and those that the provider does not support.
 *
 * @throws {Failure} as {@link requireExpressible}.
 */
export function requireSupported(conversation: Conversation, fields: readonly (keyof Conversation)[]): void {
  for (const name of conversation.others.keys()) throw unsupported(name);
  for (const field of fields) {
    const value = conversation[field];
    // A penalty of 0 and an empty list ask for nothing.
    const isNeutral =
      value === null || (value === 0 && field !== "seed") || (Array.isArray(value) && value.length === 0);
    if (!isNeutral) throw unsupported(nameOf(conversation, field));
  }
}

/** The refusal of a field, by the client's name of it, that the provider does not support. */
export function unsupported(name: string): Failure {
  return cannot(name, UNSUPPORTED);
}

/**
 * Optional fields that the provider has no equivalent of, by the client's names, details of images, which its models choose, and names of
 * files. They are left out.
 */
export function leftOutOf(conversation: Conversation, limits: ConversationLimits): readonly string[] {
  const fields = withoutEquivalent(conversation, limits).map((field) => nameOf(conversation, field));
  const details = mediaIn(conversation).flatMap(detailOf);
  return [
    ...fields,
    ...cacheFieldsIn(conversation),
    ...details,
    ...filenamesIn(conversation, (file) => !limits.hasFilename(file)),
  ];
}

/** The places of the images that models have produced, for providers that do not take them back. */
export function producedImagesIn({ turns }: Conversation): readonly string[] {
  return turns.flatMap((turn) =>
    turn.role === "assistant" ? turn.parts.flatMap((part) => (part.kind === "image" ? [part.at] : [])) : [],
  );
}

/** The number of images of a conversation that a provider gets. @param ignored What is left out for it. */
export function imagesSent(conversation: Conversation, ignored: readonly string[]): number {
  const left = new Set(ignored);
  const shown = mediaIn(conversation).filter(({ kind }) => kind === "image");
  return shown.length + producedImagesIn(conversation).filter((at) => !left.has(at)).length;
}

/** The places of the names of files that have one. @param isLeftOut Whether the name of a file counts. */
export function filenamesIn(
  conversation: Conversation,
  isLeftOut: (file: FilePart) => boolean,
): readonly string[] {
  return mediaIn(conversation).flatMap((part) =>
    part.kind === "file" && part.filename !== null && isLeftOut(part) ? [part.filenameAt] : [],
  );
}

/** The fields about OpenAI's cache that the client has sent, by its names. */
export function cacheFieldsIn(conversation: Conversation): readonly string[] {
  return (["promptCacheRetention", "promptCacheOptions"] as const)
    .filter((field) => conversation[field] !== null)
    .map((field) => nameOf(conversation, field));
}

/** What the user and tools say. */
function mediaIn({ turns }: Conversation): readonly UserPart[] {
  return turns.flatMap((turn) => {
    if (turn.role === "tool") return turn.parts.flatMap(({ parts }) => parts);
    return turn.role === "user" ? turn.parts : [];
  });
}

function detailOf(part: UserPart): readonly string[] {
  return part.kind === "image" && part.detail !== null ? [`${part.at}.detail`] : [];
}

function withoutEquivalent(
  { verbosity, serviceTier, parallelToolCalls, tools, logprobs }: Conversation,
  { hasOneCallAtATime, hasLogprobs }: ConversationLimits,
): readonly (keyof Conversation)[] {
  const fields: (keyof Conversation)[] = [];
  if (verbosity !== null && verbosity !== "medium") fields.push("verbosity");
  if (!isUsualTier(serviceTier)) fields.push("serviceTier");
  if (parallelToolCalls === false && tools.length > 0 && !hasOneCallAtATime) fields.push("parallelToolCalls");
  if (logprobs !== null && !hasLogprobs) fields.push("logprobs");
  return fields;
}

/** Whether a service tier asks for nothing special. */
export function isUsualTier(tier: string | null): boolean {
  return tier === null || tier === "auto" || tier === "default";
}

/** The turns for providers whose models answer a user. OpenAI's answer instructions alone, too, which then are what the user says. */
export function turnsWithUser(turns: readonly Turn[]): readonly Turn[] {
  if (turns.some(({ role }) => role !== "system")) return turns;
  return turns.map((turn) => (turn.role === "system" ? { role: "user", parts: turn.parts } : turn));
}

/** Instructions as a text of the user's, for providers that do not take them at their place in the conversation. */
export function markedInstructions(parts: readonly Pick<TextPart, "text">[]): string {
  return `<system>\n${parts.map(({ text }) => text).join("\n")}\n</system>`;
}

/** The refusal of a conversation that is empty once its empty texts, which providers do not accept, are left out. */
export function nothingToRead(conversation: Conversation): Failure {
  return cannot(nameOf(conversation, "turns"), NOTHING_TO_READ);
}

/**
 * Refuses an empty message of the user's at the end, for providers that take no empty ones. Without it the model would continue its own message.
 *
 * @param endsWithModel Whether a message of the model's is the last one that would be sent.
 * @throws {Failure} `invalid_request` naming the message.
 */
export function requireLastMessage(conversation: Conversation, endsWithModel: boolean): void {
  const last = conversation.turns.at(-1);
  if (!endsWithModel || last?.role !== "user") return;
  const at = last.parts[0]?.at ?? nameOf(conversation, "turns");
  throw cannot(at, "must not be empty after a message of the model");
}

/**
 * The inputs of the calls that a conversation holds, as objects, for providers that take no text. In a body they are texts, whose content its limits do not count:
 * all of them together have the limits of a body.
 */
export class EarlierCallInputs {
  readonly #parser = new BoundedParser();

  /**
   * Returns the input with its numbers as {@link written} writes them. A text that is no object, as of an answer that was cut off, is in an object, so that
   * the conversation can go on: Anthropic's documentation of streamed inputs recommends this form.
   *
   * @throws {Failure} `invalid_request` unless it is within the limits.
   */
  objectOf({ input, at }: ToolCallPart): JsonObject {
    if (input.trim() === "") return {};
    const measured = this.#parser.measure(input);
    if (measured === "too-much") {
      throw cannot(at, "must not hold more, together with the other calls, than a body may hold");
    }
    // A conversation may have many broken inputs, which count nothing: they are not parsed, because that may take as long as for a whole body each.
    const value = measured === "counted" ? parseExact(input) : null;
    return value ?? { INVALID_JSON: input };
  }
}

/** The refusal of a result whose call the conversation does not have. @param at The place of the call's id. */
export function resultWithoutCall(at: string): Failure {
  return cannot(at, "must be the id of a call that an earlier message has made");
}

/** The name of a tool whose input is the answer, which no tool of the client has. */
export function answerToolName(tools: readonly Tool[]): string {
  const taken = new Set(tools.map(({ name }) => name));
  let name = "json";
  while (taken.has(name)) name += "_";
  return name;
}

/** The schema of an answer. The description of its format, which Anthropic has no field for, is that of a schema without one. */
export function schemaOf(format: OutputFormat | null): JsonObject | null {
  if (format?.kind !== "schema" || format.schema === null) return null;
  const { schema, description } = format;
  return description === null || (schema.description ?? null) !== null ? schema : { ...schema, description };
}

/** What JSON leaves out when the client did not ask for it. */
export function given<Value>(value: Value | null): Value | undefined {
  return value ?? undefined;
}

/** A list that JSON leaves out when it is empty. */
export function givenList<Item>(list: readonly Item[]): readonly Item[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** The fewest tokens of a budget for thoughts that stand for an effort, as other gateways have them. Fewer tokens are a low effort. */
const EFFORT_BUDGETS = [
  ["high", 10_000],
  ["medium", 5_000],
] as const;

/** The effort that is asked for, or that a budget stands for, for models that think by an effort. `null`: neither is asked for. */
export function effortIn({ effort, budgetTokens }: Reasoning): Effort | null {
  if (effort !== null || budgetTokens === null) return effort;
  return EFFORT_BUDGETS.find(([, tokens]) => budgetTokens >= tokens)?.[0] ?? "low";
}

/** The share of a model's maximum tokens that an effort may take, for models that think within a budget. */
export const BUDGET_SHARES: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
  max: 0.95,
};

/** The refusal of a request whose schemas can't be translated. */
export function untranslatable(): Failure {
  return cannot("body", "cannot be translated for this model's provider; check its schemas");
}

/**
 * The request that `write` writes, with its text.
 *
 * @throws {Failure} `invalid_request` when a schema is nested more deeply than it can be written.
 */
export function written<Written extends WrittenConversation>(
  write: () => Written,
): Written & { readonly text: string } {
  try {
    const conversation = write();
    return { ...conversation, text: exactJson(JSON.stringify(conversation.body)) };
  } catch (error) {
    throw error instanceof RangeError ? untranslatable() : error;
  }
}
