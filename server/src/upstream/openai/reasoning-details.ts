import { type Json, type JsonObject, objectsIn, parseJsonObject } from "../../json/json.ts";
import { arrayOf } from "../../json/members.ts";
import { jsonText, malformedResponse } from "../refusal.ts";

/** The types of details that come in pieces, each with the member that the pieces continue. */
const PIECED = new Map<Json | undefined, string>([
  ["reasoning.text", "text"],
  ["reasoning.summary", "summary"],
]);

/** The maximum of details. They take little more than memory, and some models have one for each piece of a thought. */
const MAX_DETAILS = 500_000;

/**
 * The details that OpenRouter sends of thoughts, in the formats of their providers. They have to be sent back unchanged with the calls that followed
 * them: without them Google's models refuse the conversation.
 */
export class ReasoningDetails {
  readonly #all: Detail[] = [];

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Adds the details of a message. Each is complete. @throws {UpstreamRefused} when there are too many. */
  addWhole(details: Json | undefined): void {
    for (const detail of objectsIn(details)) this.#add(detail);
  }

  /** Adds the details of a chunk of a message. Each may continue the previous one. @throws as {@link addWhole}. */
  addPiece(details: Json | undefined): void {
    for (const detail of objectsIn(details)) {
      const last = this.#all.at(-1);
      if (last !== undefined && isContinued(last, detail)) extend(last, detail);
      else this.#add(detail);
    }
  }

  #add(detail: JsonObject): void {
    if (this.#all.length === MAX_DETAILS) throw malformedResponse();
    this.#all.push(detail);
  }

  /** The details as a text, which {@link detailsIn} reads. */
  toText(): string {
    return jsonText({ details: this.#all });
  }
}

/** A detail of its own: further pieces are added to it. */
type Detail = Record<string, Json | undefined>;

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

/** Adds a piece to the detail that it continues, which is not copied: it may be long by then. */
function extend(last: Detail, piece: JsonObject): void {
  const member = PIECED.get(piece.type) ?? "";
  const text = textOf(last[member]) + textOf(piece[member]);
  for (const [name, value] of Object.entries(piece)) if (value !== null) last[name] = value;
  last[member] = text;
}

function textOf(text: Json | undefined): string {
  return typeof text === "string" ? text : "";
}

/** The details of {@link ReasoningDetails.toText}. */
export function detailsIn(text: string): readonly Json[] {
  return arrayOf(parseJsonObject(text)?.details);
}
