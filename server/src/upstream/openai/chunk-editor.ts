import { type JsonObject, parseJsonObject } from "../../json/json.ts";
import { type Changes, JsonBody } from "../../json/json-body.ts";

/** How a server ends every chunk of a stream but the last when it was asked for usage: OpenAI's does. */
const NO_USAGE_YET = ',"usage":null}';
const MODEL = '"model":';
/** An object's first members, without escapes and without objects or arrays in them. */
const PLAIN_MEMBERS = /^\{[^[\]{}\\]*$/;

export interface EditedChunk {
  /** As it came. */
  readonly value: JsonObject;
  /** With the model's public name, and without usage that is to be hidden; all else to the letter. */
  readonly text: string;
}

/** A chunk's text up to the end of its model's name. */
interface Head {
  readonly model: unknown;
  readonly text: string;
  readonly edited: string;
}

/**
 * Changes what must be changed of the chunks of one stream. They begin alike: where the model's name stands is looked for in the
 * first of them, and in those that differ.
 */
export class ChunkEditor {
  readonly #model: string;
  readonly #hidesUsage: boolean;
  #head: Head | null = null;

  /** `model`: what the client is to see as its name. */
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
    return edited ?? this.#editAfter(this.#plainHeadOf(text, value), text, value) ?? this.#editWhole(text);
  }

  #editAfter(head: Head | null, text: string, value: JsonObject): EditedChunk | null {
    const rest = head === null ? null : this.#restAfter(head, text, value);
    if (head === null || rest === null) return null;
    this.#head = head;
    return { value, text: head.edited + rest };
  }

  /** What follows the head, edited; `null` where that takes a closer look. */
  #restAfter(head: Head, text: string, value: JsonObject): string | null {
    const start = head.text.length;
    // A name that stands twice.
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
    const edited = this.#editAfter(this.#headOf(body), text, value);
    if (edited !== null) return edited;
    const changes: Changes =
      this.#hidesUsage && "usage" in value
        ? { model: this.#model, usage: undefined }
        : { model: this.#model };
    return { value, text: body.textWith(changes) };
  }

  /** Of a chunk as servers mostly write it, found without a look at all of it; `null` where it may be another. */
  #plainHeadOf(text: string, { model }: JsonObject): Head | null {
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

  /** `null` where the model is not named just once, or what is to be hidden comes before. */
  #headOf({ members, text, value }: JsonBody): Head | null {
    const [model, another] = members.filter(({ name }) => name === "model");
    if (model === undefined || another !== undefined) return null;
    if (members.some(({ name, start }) => name === "usage" && start < model.start)) return null;
    return {
      model: value.model,
      text: text.slice(0, model.valueEnd),
      edited: text.slice(0, model.valueStart) + JSON.stringify(this.#model),
    };
  }
}
