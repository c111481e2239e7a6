import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "./json-text.ts";

/** Finds the end of a JSON object that comes in pieces. Each character is read once, where parsing what has come so far would read it again and again. */
export class ObjectEnd {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isFound = false;

  /** Whether the outermost bracket is closed. Only then can the text be an object. If it is none then, it does not become one by more text. */
  get isFound(): boolean {
    return this.#isFound;
  }

  /** Reads the next piece. */
  add(piece: string): void {
    for (let at = 0; at < piece.length && !this.#isFound; at++) this.#read(piece.charCodeAt(at));
  }

  #read(code: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isInString = false;
      return;
    }
    if (code === QUOTE) this.#isInString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) this.#depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) this.#isFound = --this.#depth <= 0;
  }
}
