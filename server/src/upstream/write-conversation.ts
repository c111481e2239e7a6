import {
  type Conversation,
  cannot,
  NOTHING_TO_READ,
  nameOf,
  type OutputFormat,
  type TextPart,
  type Tool,
  type Turn,
} from "../conversation/conversation.ts";
import type { Failure } from "../errors/failure.ts";
import { exactJson } from "../json/exact-numbers.ts";
import type { JsonObject } from "../json/json.ts";

/** A conversation as a provider's request. */
export interface WrittenConversation {
  readonly body: JsonObject;
  /** What the provider has no equivalent of, by the client's names. */
  readonly ignored: readonly string[];
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
