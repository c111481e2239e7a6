import { inspect } from "node:util";

const REDACTED = "[credential]";

/** What the service shows to an upstream. Prints as a placeholder wherever it may end up. */
export class Credential {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the request's header and nothing else. */
  reveal(): string {
    return this.#value;
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
