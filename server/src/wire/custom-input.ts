import type { CallInputs } from "../json/call-inputs.ts";

/** The beginning of the input of a custom tool's function, up to the text. */
const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** An input without text, but for white space. */
const EMPTY = '{"input":"';
/** A text of this length that does not match {@link HEAD} is something else. */
const MAX_HEAD_LENGTH = 256;
/** What a JSON text consists of: its closing quote, escapes, and what stands for itself. The last escape may be incomplete. */
const TOKENS = /"|\\u[\s\S]{4}|\\[^u]|[^"\\]+/gy;
const ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};
const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/**
 * Decodes the text of `{"input":"…"}` while it is received. Models do not always keep to that form: any other input is decoded when
 * it is complete, and what is no JSON is the text itself.
 */
export class CustomInput {
  /** The text decoded so far. */
  text = "";
  /** What was received and is not decoded yet. */
  #received = "";
  /** The first half of a surrogate pair, which is decoded together with the second. */
  #half = "";
  #isBegun = false;
  #isClosed = false;
  readonly #inputs: CallInputs;

  constructor(inputs: CallInputs) {
    this.#inputs = inputs;
  }

  /** Whether the input so far is only the beginning of one. */
  get isCut(): boolean {
    return this.#isBegun ? !this.#isClosed : EMPTY.startsWith(this.#received.replaceAll(/\s/g, "") || " ");
  }

  /** Whether the text has ended, so that further pieces add nothing. */
  get isWhole(): boolean {
    return this.#isClosed;
  }

  /** The piece of the text that a piece of the input adds; may be empty. */
  push(piece: string): string {
    if (this.#isClosed) return "";
    this.#received += piece;
    if (!this.#isBegun) {
      if (this.#received.length > MAX_HEAD_LENGTH + piece.length) return "";
      const head = HEAD.exec(this.#received);
      if (head === null) return "";
      this.#isBegun = true;
      this.#received = this.#received.slice(head[0].length);
    }
    const decoded = this.#decode();
    this.text += decoded;
    return decoded;
  }

  /** The rest of the text, when the input is complete. */
  end(): string {
    if (this.#isBegun) return "";
    this.text = wholeText(this.#received, this.#inputs);
    return this.text;
  }

  #decode(): string {
    let decoded = this.#half;
    let end = 0;
    for (const { 0: token, index } of this.#received.matchAll(TOKENS)) {
      end = index + token.length;
      this.#isClosed = token === '"';
      if (this.#isClosed) break;
      decoded += token.startsWith("\\") ? unescaped(token) : token;
    }
    this.#received = this.#received.slice(end);
    this.#half = this.#isClosed ? "" : (HIGH_SURROGATE.exec(decoded)?.[0] ?? "");
    return decoded.slice(0, decoded.length - this.#half.length);
  }
}

function unescaped(token: string): string {
  const kind = token.charAt(1);
  if (kind !== "u") return ESCAPES[kind] ?? kind;
  const code = Number.parseInt(token.slice(2), 16);
  return Number.isNaN(code) ? "\u{fffd}" : String.fromCharCode(code);
}

function wholeText(received: string, inputs: CallInputs): string {
  const parsed = inputs.parse(received);
  if (parsed === null) return received;
  if (typeof parsed.input === "string") return parsed.input;
  const [only, another] = Object.values(parsed);
  return typeof only === "string" && another === undefined ? only : received;
}
