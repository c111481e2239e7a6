/** An event larger than this is not a model's answer. */
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;

/** An event exceeds 16 Mi characters. */
export class EventTooLarge extends Error {
  override readonly name = "EventTooLarge";
}

/**
 * Reads the `data` of server-sent events out of a byte stream, several data lines joined by newlines
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Comments and other fields are passed over.
 * Holds one event at a time, and looks at each piece once.
 */
export class EventReader {
  readonly #decoder = new TextDecoder();
  /** Of the line that has not ended. */
  #pieces: string[] = [];
  #data: string[] = [];
  /** Of both. */
  #characters = 0;
  #afterCarriageReturn = false;

  /** The events that end in this piece. @throws {EventTooLarge} */
  push(bytes: Uint8Array): readonly string[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** What has not ended yet: some servers leave out the last blank line. */
  end(): readonly string[] {
    return this.#read("\n\n");
  }

  #read(piece: string): readonly string[] {
    const events: string[] = [];
    if (piece === "") return events;
    // The other half of a CRLF whose halves came apart.
    const text = this.#afterCarriageReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#afterCarriageReturn = piece.endsWith("\r");
    this.#characters += text.length;
    if (this.#characters > MAX_EVENT_CHARACTERS) throw new EventTooLarge("a server-sent event is too large");
    const lines = text.includes("\r") ? text.split(/\r\n|\n|\r/) : text.split("\n");
    const unended = lines.pop() ?? "";
    for (const rest of lines) {
      const line = this.#pieces.length === 0 ? rest : this.#pieces.join("") + rest;
      this.#pieces = [];
      if (line === "") {
        const data = this.#data;
        this.#data = [];
        this.#characters = unended.length;
        if (data.length > 0) events.push(data.join("\n"));
      } else if (line.startsWith("data:")) {
        this.#data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      }
    }
    if (unended !== "") this.#pieces.push(unended);
    return events;
  }
}
