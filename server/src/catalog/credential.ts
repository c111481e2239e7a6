import { inspect } from "node:util";

const REDACTED = "[credential]";
/**
 * Shorter values are placeholders of local servers, such as `ollama`. Answers may name those as words, and they open nothing.
 */
const MIN_SECRET_LENGTH = 16;
/** Credentials of a provider begin alike with fewer characters, which tell nothing. */
const MIN_BEGINNING = 8;

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

  /** The text of an error with the value replaced by a placeholder, also where a text that was cut short ends within it. */
  cutFromError(text: string): string {
    return this.#spellings.reduce(cutBeginning, this.#cut(text));
  }

  /** Removes the value from a piece of an answer, unless it is too short to be a secret. */
  cutFromAnswer(text: string): string {
    if (this.#value.length < MIN_SECRET_LENGTH) return text;
    return this.#spellings.some((spelling) => text.includes(spelling)) ? this.#cut(text) : text;
  }

  #cut(text: string): string {
    return this.#spellings.reduce((cut, spelling) => cut.replaceAll(spelling, REDACTED), text);
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

/** Replaces the beginning of a spelling at the end of a text. */
function cutBeginning(text: string, spelling: string): string {
  for (let length = Math.min(spelling.length - 1, text.length); length >= MIN_BEGINNING; length--) {
    if (text.endsWith(spelling.slice(0, length))) return text.slice(0, -length) + REDACTED;
  }
  return text;
}
