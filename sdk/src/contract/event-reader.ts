/** An event exceeds the reader's limit. */
export class EventTooLarge extends Error {
  override readonly name = "EventTooLarge";
}

const ROOM_KEPT_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = "\u{feff}";

/**
 * Reads the `data` of server-sent events out of a byte stream, several data lines joined by newlines
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Comments and other fields are passed over.
 * Holds one event at a time, and looks at each piece once.
 */
export class EventReader {
  /** Of whole lines only: a decoder that has to remember half a character is several times as slow. */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Of the line that has not ended: room that grows, and how much of it is taken. */
  #line = new Uint8Array(0);
  #lineBytes = 0;
  /** Of the event that has not ended. */
  #data: string[] = [];
  #dataCharacters = 0;
  #isFirst = true;
  #afterCarriageReturn = false;

  readonly #maxEventBytes: number;

  /** @param maxEventBytes A larger event is refused. */
  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** The events that end in this piece. @throws {EventTooLarge} */
  push(bytes: Uint8Array): readonly string[] {
    if (bytes.length === 0) return [];
    if (this.#lineBytes + bytes.length + this.#dataCharacters > this.#maxEventBytes) {
      throw new EventTooLarge("a server-sent event is too large");
    }
    const end = endOfLines(bytes);
    if (end === bytes.length && this.#lineBytes === 0) return this.#read(this.#decoder.decode(bytes));
    this.#keep(bytes.subarray(0, end));
    const events = end === 0 ? [] : this.#read(this.#takeLine());
    this.#keep(bytes.subarray(end));
    return events;
  }

  /** What has not ended yet: some servers leave out the last blank line. */
  end(): readonly string[] {
    return this.#read(`${this.#takeLine()}\n\n`);
  }

  /** A copy: the piece may be a view of much more, or one of very many. */
  #keep(bytes: Uint8Array): void {
    const needed = this.#lineBytes + bytes.length;
    if (needed > this.#line.length) {
      const roomier = new Uint8Array(Math.max(needed, 2 * this.#line.length));
      roomier.set(this.#line.subarray(0, this.#lineBytes));
      this.#line = roomier;
    }
    this.#line.set(bytes, this.#lineBytes);
    this.#lineBytes = needed;
  }

  #takeLine(): string {
    const text = this.#decoder.decode(this.#line.subarray(0, this.#lineBytes));
    this.#lineBytes = 0;
    // One long line does not take its room for as long as the stream is open.
    if (this.#line.length > ROOM_KEPT_BYTES) this.#line = new Uint8Array(0);
    return text;
  }

  /** Whole lines. */
  #read(lines: string): readonly string[] {
    const events: string[] = [];
    let text = lines;
    if (this.#isFirst && text.startsWith(BYTE_ORDER_MARK)) text = text.slice(1);
    this.#isFirst = false;
    // The other half of a CRLF whose halves came apart.
    if (this.#afterCarriageReturn && text.startsWith("\n")) text = text.slice(1);
    this.#afterCarriageReturn = text.endsWith("\r");
    const all = text.includes("\r") ? text.split(/\r\n|\n|\r/) : text.split("\n");
    // What follows the last line's end.
    all.pop();
    for (const line of all) {
      if (line === "") {
        const data = this.#data;
        if (data.length === 0) continue;
        this.#data = [];
        this.#dataCharacters = 0;
        events.push(data.length === 1 ? (data[0] ?? "") : data.join("\n"));
      } else if (line.startsWith("data:")) {
        this.#data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
        this.#dataCharacters += line.length;
      }
    }
    return events;
  }
}

/** After the last end of a line; 0 where there is none. No other character's bytes in UTF-8 are those of an end. */
function endOfLines(bytes: Uint8Array): number {
  if (bytes.at(-1) === LINE_FEED) return bytes.length;
  return 1 + Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN));
}
