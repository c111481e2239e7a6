import type { ChatCompletion, ChatCompletionChunk, ChatCompletionMessage } from "../contract/chat.ts";
import { OstiaryError } from "./errors.ts";
import { type Fields, isFields } from "./fields.ts";

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
    for (const { index, delta, logprobs, ...rest } of choices) {
      const choice = this.choice(index);
      setFields(choice.fields, rest);
      if (isFields(logprobs)) {
        const known = isFields(choice.fields.logprobs) ? choice.fields.logprobs : {};
        choice.fields.logprobs = known;
        mergeFields(known, logprobs);
      }
      mergeFields(choice.message, delta);
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

  /** All chunks so far as one; none before the first. */
  chunks(): ChatCompletionChunk[] {
    const choices = [...this.#choices.values()];
    const chunk = {
      ...this.#fields,
      choices: choices.map(({ index, message, fields }) => ({ ...fields, index, delta: message })),
    };
    // A copy, which does not grow.
    return this.#isEmpty() ? [] : [JSON.parse(JSON.stringify(chunk))];
  }

  #isEmpty(): boolean {
    return Object.keys(this.#fields).length + this.#choices.size === 0;
  }

  /** @throws {OstiaryError} there was no chunk. */
  completion(): ChatCompletion {
    if (this.#isEmpty()) throw new OstiaryError("The stream contained no chunks.");
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

/** The first choice's message. @throws {OstiaryError} there is none. */
export function messageOf({ choices }: Partial<ChatCompletion>): ChatCompletionMessage {
  const message = choices?.[0]?.message;
  if (!isFields(message)) throw new OstiaryError("The answer has no choice.");
  return message;
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
  const { name, arguments: text } = called;
  return { id: "", ...call, type, function: { ...called, name: name ?? "", arguments: text ?? "" } };
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
    for (const item of value) addItem(list, item, name);
    return list;
  }
  if (!isFields(value)) return value;
  const fields = isFields(before) ? before : {};
  mergeFields(fields, value);
  return fields;
}

/** Items with an `index` are parts of the item with that index; all others are items of their own. */
function addItem(list: unknown[], item: unknown, name: string): void {
  const known = isFields(item) ? knownItem(list, item, name) : undefined;
  if (known === undefined) list.push(merged("", undefined, item));
  else mergeFields(known, item as Fields);
}

/** The item that another one continues. Only items with an `index` are searched for: a list may have one for each token of a long answer. */
function knownItem(list: readonly unknown[], { index, id, function: called }: Fields, name: string) {
  if (typeof index === "number")
    return list.find((other): other is Fields => isFields(other) && other.index === index);
  // Some model servers send no index. The pieces of a call follow its beginning, which has its id or its name.
  const last = list.at(-1);
  if (name !== "tool_calls" || !isFields(last)) return undefined;
  const continues = id ? id === last.id : !(isFields(called) && called.name);
  return continues ? last : undefined;
}
