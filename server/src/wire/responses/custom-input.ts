import { isJsonObject, parseJsonObject } from "../../json/json.ts";

/** The beginning of the input of a custom tool's function, up to the text. */
const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** A text of this length that does not match {@link HEAD} is something else. */
const MAX_HEAD_LENGTH = 256;
const ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

interface Step {
  readonly text: string;
  readonly end: number;
  /** Whether it is the quote that closes the text. */
  readonly isEnd: boolean;
}

/**
 * Decodes the text of `{"input":"…"}` while it is received. Models do not always keep to that form: any other input is decoded when
 * it is complete, and what is no JSON is the text itself.
 */
export class CustomInput {
  /** The text decoded so far. */
  text = "";
  #received = "";
  /** The position in what was received up to which it is decoded; -1 before the text has begun. */
  #position = -1;
  #isClosed = false;

  /** The piece of the text that a piece of the input adds; may be empty. */
  push(piece: string): string {
    if (this.#isClosed) return "";
    this.#received += piece;
    if (this.#position === -1) {
      if (this.#received.length > MAX_HEAD_LENGTH + piece.length) return "";
      const head = HEAD.exec(this.#received);
      if (head === null) return "";
      this.#position = head[0].length;
    }
    const decoded = this.#decode();
    this.text += decoded;
    return decoded;
  }

  /** The rest of the text, when the input is complete. */
  end(): string {
    if (this.#position !== -1) return "";
    this.text = wholeText(this.#received);
    return this.text;
  }

  #decode(): string {
    let decoded = "";
    let at = this.#position;
    while (!this.#isClosed) {
      const step = this.#stepAt(at);
      if (step === null) break;
      // Half a character is decoded together with its other half.
      if (isHighSurrogate(step.text) && this.#stepAt(step.end) === null) break;
      this.#isClosed = step.isEnd;
      decoded += step.text;
      at = step.end;
    }
    this.#received = this.#received.slice(at);
    this.#position = 0;
    return decoded;
  }

  /** The character at a position; `null` if it is not complete yet. */
  #stepAt(at: number): Step | null {
    const character = this.#received[at];
    if (character === undefined) return null;
    if (character === '"') return { text: "", end: at + 1, isEnd: true };
    return character === "\\" ? this.#escapeAt(at) : { text: character, end: at + 1, isEnd: false };
  }

  #escapeAt(at: number): Step | null {
    const kind = this.#received[at + 1];
    if (kind === undefined) return null;
    if (kind !== "u") return { text: ESCAPES[kind] ?? kind, end: at + 2, isEnd: false };
    const digits = this.#received.slice(at + 2, at + 6);
    if (digits.length < 4) return null;
    const code = Number.parseInt(digits, 16);
    const text = Number.isNaN(code) ? "\u{fffd}" : String.fromCharCode(code);
    return { text, end: at + 6, isEnd: false };
  }
}

function isHighSurrogate(text: string): boolean {
  const code = text.charCodeAt(0);
  return code >= 0xd800 && code <= 0xdbff;
}

function wholeText(received: string): string {
  const parsed = parseJsonObject(received);
  if (!isJsonObject(parsed)) return received;
  if (typeof parsed.input === "string") return parsed.input;
  const [only, another] = Object.values(parsed);
  return typeof only === "string" && another === undefined ? only : received;
}
