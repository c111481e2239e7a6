import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { jsonText } from "../refusal.ts";

/** By the types of details that come in pieces, the member in which the pieces follow each other. */
const PIECED = new Map<Json | undefined, string>([
  ["reasoning.text", "text"],
  ["reasoning.summary", "summary"],
]);

/**
 * What OpenRouter tells of thoughts, in the formats of their providers. It wants them back as they are with the calls that followed: without
 * them Google's models refuse the conversation.
 */
export class ReasoningDetails {
  readonly #all: JsonObject[] = [];

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Adds the details of a message, each of which is whole. */
  addWhole(details: Json | undefined): void {
    this.#all.push(...objectsIn(details));
  }

  /** Adds the details of a piece of a message, each of which may continue the one before. */
  addPiece(details: Json | undefined): void {
    for (const detail of objectsIn(details)) {
      const last = this.#all.at(-1);
      if (last !== undefined && isContinued(last, detail))
        this.#all[this.#all.length - 1] = joined(last, detail);
      else this.#all.push(detail);
    }
  }

  /** As {@link detailsIn} reads it. */
  toText(): string {
    return jsonText({ details: this.#all });
  }
}

function objectsIn(details: Json | undefined): readonly JsonObject[] {
  return Array.isArray(details) ? details.filter(isJsonObject) : [];
}

/** Whether a detail is a piece of the last one. The signature, which may come without a text, is the end of a thought. */
function isContinued(last: JsonObject, detail: JsonObject): boolean {
  return (
    PIECED.has(detail.type) &&
    last.type === detail.type &&
    last.index === detail.index &&
    (last.id ?? detail.id) === (detail.id ?? last.id) &&
    (last.signature ?? "") === ""
  );
}

function joined(last: JsonObject, detail: JsonObject): JsonObject {
  const member = PIECED.get(detail.type) ?? "";
  const given = Object.entries(detail).filter(([, value]) => value !== null);
  return { ...last, ...Object.fromEntries(given), [member]: textOf(last[member]) + textOf(detail[member]) };
}

function textOf(text: Json | undefined): string {
  return typeof text === "string" ? text : "";
}

/** The details of {@link ReasoningDetails.toText}. */
export function detailsIn(text: string): readonly Json[] {
  const details = parseJsonObject(text)?.details;
  return Array.isArray(details) ? details : [];
}
