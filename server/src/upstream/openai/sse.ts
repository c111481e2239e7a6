/** An event larger than this is not a model's answer. */
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;

/** An event exceeds 16 Mi characters. */
export class EventTooLarge extends Error {
  override readonly name = "EventTooLarge";
}

/**
 * The `data` of each server-sent event of a byte stream, several data lines joined by newlines
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Comments and other fields are passed over.
 * Holds one event at a time, and looks at each piece once.
 *
 * @throws {EventTooLarge}
 */
export async function* readEventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const events = new EventLines();
  for await (const chunk of bytes) yield* events.push(decoder.decode(chunk, { stream: true }));
  // Some servers leave out the last blank line.
  yield* events.push("\n\n");
}

/** Lines put together from pieces, and events from lines. */
class EventLines {
  /** Of the line that has not ended. */
  #pieces: string[] = [];
  #data: string[] = [];
  /** Of both. */
  #characters = 0;
  #afterCarriageReturn = false;

  *push(piece: string): Generator<string> {
    if (piece === "") return;
    // The other half of a CRLF whose halves came apart.
    const text = this.#afterCarriageReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#afterCarriageReturn = piece.endsWith("\r");
    this.#characters += text.length;
    if (this.#characters > MAX_EVENT_CHARACTERS) throw new EventTooLarge("a server-sent event is too large");
    const lines = text.split(/\r\n|\n|\r/);
    const unended = lines.pop() ?? "";
    for (const rest of lines) {
      this.#pieces.push(rest);
      const line = this.#pieces.join("");
      this.#pieces = [];
      if (line === "") {
        const data = this.#data;
        this.#data = [];
        this.#characters = unended.length;
        if (data.length > 0) yield data.join("\n");
      } else if (line.startsWith("data:")) {
        this.#data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      }
    }
    if (unended !== "") this.#pieces.push(unended);
  }
}
