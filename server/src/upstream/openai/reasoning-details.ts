import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { jsonText } from "../refusal.ts";

/** Members whose pieces follow each other in a stream. */
const PIECED = ["text", "summary"];

/**
 * What OpenRouter tells of thoughts, in the formats of their providers. It wants them back as they are with the calls that followed: without
 * them Google's models refuse the conversation.
 */
export class ReasoningDetails {
  readonly #all: JsonObject[] = [];

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Adds the details of a message, or of a piece of one. */
  add(details: Json | undefined): void {
    for (const detail of Array.isArray(details) ? details : [])
      if (isJsonObject(detail)) this.#addOne(detail);
  }

  /** As {@link detailsIn} reads it. */
  toText(): string {
    return jsonText({ details: this.#all });
  }

  #addOne(detail: JsonObject): void {
    const last = this.#all.at(-1);
    const member = PIECED.find((name) => typeof detail[name] === "string");
    const isPiece =
      member !== undefined &&
      last?.type === detail.type &&
      last?.index === detail.index &&
      typeof last?.[member] === "string";
    if (!isPiece) {
      this.#all.push(detail);
      return;
    }
    const text = `${last[member]}${detail[member]}`;
    const given = Object.entries(detail).filter(([, value]) => value !== null && value !== undefined);
    this.#all[this.#all.length - 1] = { ...last, ...Object.fromEntries(given), [member]: text };
  }
}

/** The details of {@link ReasoningDetails.toText}. */
export function detailsIn(text: string): readonly Json[] {
  const details = parseJsonObject(text)?.details;
  return Array.isArray(details) ? details : [];
}
