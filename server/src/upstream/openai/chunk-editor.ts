import { type JsonObject, parseJsonObject } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";

/** The end of a chunk of OpenAI's streams without usage yet. */
const NO_USAGE_YET = ',"usage":null}';
const MODEL = '"model":';
/** An object's first members, without escapes and without objects or arrays in them. */
const PLAIN_MEMBERS = /^\{[^[\]{}\\]*$/;

export interface EditedChunk {
  /** The chunk as received. */
  readonly value: JsonObject;
  /** The text with the model's public name and without hidden usage, otherwise unchanged. */
  readonly text: string;
}

/** A chunk's text up to the end of its model's name. */
interface Head {
  readonly model: unknown;
  readonly text: string;
  readonly edited: string;
}

/**
 * Edits the chunks of a stream. They begin alike, so the position of the model's name is searched only in the first chunk and in
 * those that differ.
 */
export class ChunkEditor {
  readonly #model: string;
  readonly #hidesUsage: boolean;
  #head: Head | null = null;

  /** `model` is the name that the client gets. */
  constructor(model: string, hidesUsage: boolean) {
    this.#model = model;
    this.#hidesUsage = hidesUsage;
  }

  /** @returns `null` when the text is no JSON object. */
  edit(text: string): EditedChunk | null {
    const value = parseJsonObject(text);
    if (value === null) return null;
    const head = this.#head;
    const edited = head !== null && text.startsWith(head.text) ? this.#editAfter(head, text, value) : null;
    return edited ?? this.#editAfter(this.#headOf(text, value), text, value) ?? this.#editWhole(text);
  }

  #editAfter(head: Head | null, text: string, value: JsonObject): EditedChunk | null {
    const rest = head === null ? null : this.#restAfter(head, text, value);
    if (head === null || rest === null) return null;
    this.#head = head;
    return { value, text: head.edited + rest };
  }

  /** The edited rest after the head; `null` if the chunk has to be parsed. */
  #restAfter(head: Head, text: string, value: JsonObject): string | null {
    const start = head.text.length;
    // The name occurs twice, or differs.
    if (text.includes('"model"', start) || value.model !== head.model) return null;
    if (!this.#hidesUsage || !("usage" in value)) return text.slice(start);
    const end = text.length - NO_USAGE_YET.length;
    // The outermost object's last member: nothing else can stand before its closing brace.
    if (!text.endsWith(NO_USAGE_YET) || text.indexOf('"usage"', start) !== end + 1) return null;
    return `${text.slice(start, end)}}`;
  }

  #editWhole(text: string): EditedChunk | null {
    const body = JsonBody.parse(text);
    if (body === null) return null;
    const { value } = body;
    const hidden = this.#hidesUsage && "usage" in value ? { usage: undefined } : {};
    return { value, text: body.textWith({ model: this.#model, ...hidden }) };
  }

  /** The head of a chunk in the usual format, found without scanning all of it; `null` for another format. */
  #headOf(text: string, { model }: JsonObject): Head | null {
    const name = text.indexOf(MODEL);
    if (name === -1 || typeof model !== "string") return null;
    const value = JSON.stringify(model);
    const before = text.slice(0, name);
    if (!text.startsWith(value, name + MODEL.length) || !PLAIN_MEMBERS.test(before)) return null;
    if (before.includes('"usage"')) return null;
    return {
      model,
      text: before + MODEL + value,
      edited: before + MODEL + JSON.stringify(this.#model),
    };
  }
}
