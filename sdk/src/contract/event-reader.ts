/** An event exceeds the reader's limit. */
export class EventTooLarge extends Error {}

/** A server-sent event. */
export interface ServerSentEvent {
  /** Its name; empty without one, which browsers call `message`. */
  readonly event: string;
  /** The id of the last event that had one; empty before. */
  readonly id: string;
  readonly data: string;
}

const ROOM_KEPT_BYTES = 64 * 1024;
const SPACE = 0x20;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = "\u{feff}";
/**
 * For all readers, as it decodes only complete lines and remembers nothing: a decoder that carries half a character over is several
 * times as slow.
 */
let decoder: InstanceType<typeof TextDecoder> | undefined;

function decoded(bytes: Uint8Array): string {
  // It is made here because the package must be importable where there is no `TextDecoder`, as in tests with jsdom.
  decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
  return decoder.decode(bytes);
}

/**
 * Reads server-sent events out of a byte stream, several data lines joined by newlines
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Comments, `retry` and events without data are skipped.
 * Holds one event at a time and scans each piece once.
 */
export class EventReader {
  /** The bytes of the incomplete line, in a buffer that grows; the buffer's used length is next to it. */
  #line = new Uint8Array(0);
  #lineBytes = 0;
  /** The data lines of the incomplete event. */
  #data: string[] = [];
  #dataCharacters = 0;
  #event = "";
  #id = "";
  #isFirst = true;
  #afterCarriageReturn = false;

  readonly #maxEventBytes: number;

  /** @param maxEventBytes A larger event is refused. */
  constructor(maxEventBytes: number = Number.POSITIVE_INFINITY) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** What is kept of the event that has not ended, in bytes and characters. */
  get pendingBytes(): number {
    return this.#line.length + this.#dataCharacters + this.#event.length + this.#id.length;
  }

  /** The data of the events that end in this piece. @throws {EventTooLarge} */
  push(bytes: Uint8Array): readonly string[] {
    return this.pushEvents(bytes).map(({ data }) => data);
  }

  /** The events that end in this piece. @throws {EventTooLarge} */
  pushEvents(bytes: Uint8Array): readonly ServerSentEvent[] {
    if (bytes.length === 0) return [];
    if (this.#lineBytes + bytes.length + this.#dataCharacters > this.#maxEventBytes) {
      throw new EventTooLarge("a server-sent event is too large");
    }
    const end = endOfLines(bytes);
    if (end === bytes.length && this.#lineBytes === 0) return this.#read(decoded(bytes));
    this.#keep(bytes.subarray(0, end));
    const events = end === 0 ? [] : this.#read(this.#takeLine());
    this.#keep(bytes.subarray(end));
    return events;
  }

  /** Whether nothing of the next event has been read. */
  #isBetweenEvents(): boolean {
    return this.#data.length === 0 && this.#event === "" && !this.#isFirst && !this.#afterCarriageReturn;
  }

  /** The data of an incomplete event: some servers omit the last blank line. */
  end(): readonly string[] {
    return this.#read(`${this.#takeLine()}\n\n`).map(({ data }) => data);
  }

  /** Copies the bytes, because the piece may be a view of a much larger buffer, or one of very many. */
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
    const text = decoded(this.#line.subarray(0, this.#lineBytes));
    this.#lineBytes = 0;
    // The buffer shrinks again, so that one long line does not occupy memory while the stream is open.
    if (this.#line.length > ROOM_KEPT_BYTES) this.#line = new Uint8Array(0);
    return text;
  }

  /** Reads complete lines. */
  #read(lines: string): readonly ServerSentEvent[] {
    const data = this.#isBetweenEvents() ? onlyDataOf(lines) : null;
    if (data !== null) return [{ event: "", id: this.#id, data }];
    const events: ServerSentEvent[] = [];
    let text = lines;
    if (this.#isFirst && text.startsWith(BYTE_ORDER_MARK)) text = text.slice(1);
    this.#isFirst = false;
    // The line feed belongs to a CRLF that was split between pieces.
    if (this.#afterCarriageReturn && text.startsWith("\n")) text = text.slice(1);
    this.#afterCarriageReturn = text.endsWith("\r");
    const all = text.includes("\r") ? text.split(/\r\n|\n|\r/) : text.split("\n");
    // The last element follows the last line end and is empty.
    all.pop();
    for (const line of all) {
      if (line === "") {
        const event = this.#event;
        this.#event = "";
        const data = this.#data;
        if (data.length === 0) continue;
        this.#data = [];
        this.#dataCharacters = 0;
        events.push({ event, id: this.#id, data: data.length === 1 ? (data[0] ?? "") : data.join("\n") });
      } else if (line.startsWith("data:")) {
        this.#data.push(fieldValueOf(line, 5));
        this.#dataCharacters += line.length;
      } else if (line.startsWith("event:")) {
        this.#event = fieldValueOf(line, 6);
      } else if (line.startsWith("id:")) {
        this.#id = fieldValueOf(line, 3);
      }
    }
    return events;
  }
}

/** The data of lines that are one event with one line of data, as most pieces of a stream are; `null` for others. */
function onlyDataOf(lines: string): string | null {
  const end = lines.length - 2;
  if (lines.indexOf("\n") !== end || !lines.startsWith("data:") || !lines.endsWith("\n\n")) return null;
  return lines.includes("\r") ? null : fieldValueOf(lines.slice(0, end), 5);
}

/** A field's value: what follows the colon, without one space. */
function fieldValueOf(line: string, start: number): string {
  return line.slice(line.charCodeAt(start) === SPACE ? start + 1 : start);
}

/** The position after the last line end; 0 without one. In UTF-8, no other character contains the bytes of a line end. */
function endOfLines(bytes: Uint8Array): number {
  if (bytes.at(-1) === LINE_FEED) return bytes.length;
  return 1 + Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN));
}
