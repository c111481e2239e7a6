import type { ChatCompletion, ChatCompletionChunk } from "../contract/chat.ts";
import { OstiaryError } from "./errors.ts";

type Fields = Record<string, unknown>;

/** Strings of a delta that are repeated or sent once. All other strings of a delta are parts of a longer one. */
const WHOLE_STRINGS = new Set(["id", "type", "role", "name", "format", "status"]);

/** One choice, as received so far. */
export interface GrowingChoice {
  readonly index: number;
  /** The deltas together. */
  readonly message: Fields;
  /** All other fields of the choice. */
  readonly fields: Fields;
}

/**
 * Puts the chunks of a streamed completion together. It keeps every field, known or not: of a delta, texts and lists are joined and
 * objects merged; of a choice or a chunk, the last value counts, and log probabilities are joined.
 */
export class CompletionBuilder {
  readonly #fields: Fields = {};
  readonly #choices = new Map<number, GrowingChoice>();

  add({ choices, ...fields }: ChatCompletionChunk): void {
    setFields(this.#fields, fields);
    // Some model servers send chunks without choices, to keep a connection open or to tell the usage.
    for (const { index, delta, logprobs, ...rest } of choices ?? []) {
      const choice = this.choice(index);
      setFields(choice.fields, rest);
      if (logprobs != null) {
        const known = isFields(choice.fields.logprobs) ? choice.fields.logprobs : {};
        choice.fields.logprobs = known;
        mergeFields(known, logprobs);
      }
      mergeFields(choice.message, delta ?? {});
    }
  }

  /** The choice with this index, as received so far. */
  choice(index: number): GrowingChoice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const fresh: GrowingChoice = { index, message: {}, fields: {} };
    this.#choices.set(index, fresh);
    return fresh;
  }

  /** @throws {OstiaryError} there was no chunk. */
  completion(): ChatCompletion {
    if (Object.keys(this.#fields).length === 0) throw new OstiaryError("The stream contained no chunks.");
    const choices = [...this.#choices.values()].toSorted((one, other) => one.index - other.index);
    // The fields are the chunks' own, and rely on the service's contract as they do.
    return {
      ...this.#fields,
      object: "chat.completion",
      choices: choices.map(({ index, message, fields }) => ({
        ...fields,
        index,
        finish_reason: fields.finish_reason ?? "stop",
        message: wholeMessage(message),
      })),
    } as unknown as ChatCompletion;
  }
}

function wholeMessage({ tool_calls: calls, ...message }: Fields): Fields {
  const whole = {
    ...message,
    role: "assistant",
    content: message.content ?? null,
    refusal: message.refusal ?? null,
  };
  return Array.isArray(calls) && calls.length > 0 ? { ...whole, tool_calls: calls.map(wholeCall) } : whole;
}

function wholeCall({ index: _, ...call }: Fields): Fields {
  const called = isFields(call.function) ? call.function : null;
  const type = call.type ?? "function";
  if (called === null) return { ...call, type };
  return { id: "", ...call, type, function: { name: "", arguments: "", ...called } };
}

/** Sets fields to their new values, except to `null` and `undefined` where there is one already. */
function setFields(target: Fields, fields: object): void {
  for (const [name, value] of Object.entries(fields)) {
    if (name !== "__proto__" && (value != null || !(name in target))) target[name] = value;
  }
}

/** Adds a delta's fields to those of the deltas before it. */
function mergeFields(target: Fields, delta: object): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === "__proto__") continue;
    target[name] = merged(name, target[name], value);
  }
}

function merged(name: string, before: unknown, value: unknown): unknown {
  if (value == null) return before ?? value;
  if (typeof value === "string") {
    if (WHOLE_STRINGS.has(name)) return value === "" ? (before ?? value) : value;
    return typeof before === "string" ? before + value : value;
  }
  if (Array.isArray(value)) {
    const list = Array.isArray(before) ? before : [];
    for (const item of value) addItem(list, item);
    return list;
  }
  if (!isFields(value)) return value;
  const fields = isFields(before) ? before : {};
  mergeFields(fields, value);
  return fields;
}

/** Items with an `index` are parts of the item with that index; all others are items of their own. */
function addItem(list: unknown[], item: unknown): void {
  if (!isFields(item)) {
    list.push(item);
    return;
  }
  const known =
    typeof item.index === "number"
      ? list.find((other) => isFields(other) && other.index === item.index)
      : undefined;
  if (isFields(known)) mergeFields(known, item);
  else list.push(merged("", undefined, item));
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
