import { inspect } from "node:util";

const REDACTED = "[credential]";
/**
 * Shorter values are placeholders of local servers, such as `ollama`. Answers may name those as words, and they open nothing.
 */
const MIN_SECRET_LENGTH = 16;

/** A credential for an upstream. It is printed as a placeholder. */
export class Credential {
  readonly #value: string;
  /** The value as texts may hold it: JSON escapes quotes and backslashes, and some servers escape slashes too. */
  readonly #spellings: readonly string[];

  constructor(value: string) {
    this.#value = value;
    const inJson = JSON.stringify(value).slice(1, -1);
    this.#spellings = [...new Set([value, inJson, inJson.replaceAll("/", "\\/")])];
  }

  /** The value itself, for the request's header and nothing else. */
  reveal(): string {
    return this.#value;
  }

  /** Whether the other credential has the same value. */
  equals(other: Credential | null): boolean {
    return other !== null && other.#value === this.#value;
  }

  /** The text of an error with the value replaced by a placeholder. */
  cutFromError(text: string): string {
    return this.#spellings.reduce((cut, spelling) => cut.replaceAll(spelling, REDACTED), text);
  }

  /** Removes the value from a piece of an answer, unless it is too short to be a secret. */
  cutFromAnswer(text: string): string {
    if (this.#value.length < MIN_SECRET_LENGTH) return text;
    return this.#spellings.some((spelling) => text.includes(spelling)) ? this.cutFromError(text) : text;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
