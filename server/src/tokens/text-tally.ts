/** The part of a text that is kept to count its tokens. The rest is assumed to be similar. */
const KEPT_CHARACTERS = 256 * 1024;

/** The beginning and the length of a text. */
export class TextTally {
  readonly #parts: string[] = [];
  #kept = 0;
  #length = 0;

  add(text: string): void {
    this.#length += text.length;
    const part = text.slice(0, KEPT_CHARACTERS - this.#kept);
    if (part === "") return;
    this.#parts.push(part);
    this.#kept += part.length;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** The part that was kept. */
  beginning(): string {
    return this.#parts.join("");
  }

  /** The length of the text, divided by that of its beginning. */
  share(): number {
    return this.#kept === 0 ? 1 : this.#length / this.#kept;
  }
}
