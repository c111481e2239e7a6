import { BODY_LIMITS, BoundedParser } from "./bounded-parser.ts";
import { parseExact } from "./exact-numbers.ts";
import { isCutOff } from "./incomplete-json.ts";
import { type JsonObject, parseJsonObject } from "./json.ts";

/** The limits for the inputs of all calls of an answer together: those of a body, except for numerals, because a model may write a long list of them. */
const INPUT_LIMITS = { ...BODY_LIMITS, numerals: 20_000 };

/**
 * Parses the inputs of an answer's calls. An input is a text in most answers, whose content the limits of an answer do not count: here all inputs
 * together stay within the limits of one body.
 */
export class CallInputs {
  readonly #parser = new BoundedParser(INPUT_LIMITS);

  /** @returns `null` when the text is no JSON object, or when the inputs so far are too many to be parsed. */
  parse(text: string): JsonObject | null {
    return this.#parser.count(text) ? parseJsonObject(text) : null;
  }

  /** As {@link parse}, with numbers as `exactJson` writes them. */
  parseExact(text: string): JsonObject | null {
    return this.#parser.count(text) ? parseExact(text) : null;
  }

  /** Whether a text is the beginning of JSON. One that is too much to be parsed counts as something else. */
  isCutOff(text: string): boolean {
    return isCutOff(text, (closed) => this.#parser.count(closed));
  }
}
