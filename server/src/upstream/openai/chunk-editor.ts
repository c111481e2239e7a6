import { type JsonObject, parseJsonObject } from "../../gateway/json.ts";
import { type Changes, JsonBody } from "../../gateway/json-body.ts";

/** How a server ends every chunk of a stream but the last when it was asked for usage: OpenAI's does. */
const NO_USAGE_YET = ',"usage":null}';

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
    const head = this.#head;
    if (head !== null && text.startsWith(head.text)) {
      const value = parseJsonObject(text);
      if (value === null) return null;
      const rest = this.#restAfter(head, text, value);
      if (rest !== null) return { value, text: head.edited + rest };
    }
    return this.#editAnew(text);
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

  #editAnew(text: string): EditedChunk | null {
    const body = JsonBody.parse(text);
    if (body === null) return null;
    const { value } = body;
    const head = this.#headOf(body);
    this.#head = head;
    const rest = head === null ? null : this.#restAfter(head, text, value);
    if (head !== null && rest !== null) return { value, text: head.edited + rest };
    const changes: Changes =
      this.#hidesUsage && "usage" in value
        ? { model: this.#model, usage: undefined }
        : { model: this.#model };
    return { value, text: body.textWith(changes) };
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
