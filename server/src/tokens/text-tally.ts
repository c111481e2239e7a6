/** So much of a text is kept to count tokens by. What comes after is taken to be like it. */
const KEPT_CHARACTERS = 256 * 1024;

/** A text of any length, of which only the beginning is kept. */
export class TextTally {
  readonly #parts: string[] = [];
  #kept = 0;
  #length = 0;

  add(text: string): void {
    this.#length += text.length;
    if (this.#kept >= KEPT_CHARACTERS) return;
    this.#parts.push(text);
    this.#kept += text.length;
  }

  /** What was kept of it. */
  beginning(): string {
    return this.#parts.join("");
  }

  /** How many times as long as its beginning the text is. */
  share(): number {
    return this.#kept === 0 ? 1 : this.#length / this.#kept;
  }
}
