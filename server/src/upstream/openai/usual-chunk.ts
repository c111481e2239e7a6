/** What comes before the text of a chunk. */
const CONTENT = '"content":"';
/** Characters that have to be escaped in a JSON string (RFC 8259, section 7), and the backslash that begins an escape. */
const NOT_PLAIN = /[^ !#-[\]-\uffff]/g;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
/** A placeholder for the text of a chunk, by which the place of the text in the client's event is found. */
const PROBE = "ostiary-text";

/** The parts of a chunk or an event before its text and after it. */
type Around = readonly [before: string, after: string];

/** A chunk that has nothing but text, as it is forwarded. */
export interface TextChunk {
  /** The text. */
  readonly produced: string;
  /** The client's event. */
  readonly event: string;
}

/**
 * Chunks that differ only in the text of the answer, as most chunks of a stream do. One of them is parsed. The others are forwarded by
 * replacing the text, without parsing.
 */
export class UsualChunk {
  readonly #received: Around;
  readonly #sent: Around;

  private constructor(received: Around, sent: Around) {
    this.#received = received;
    this.#sent = sent;
  }

  /**
   * The chunks that are like this one; `null` if the place of its text in the chunk is not certain.
   *
   * @param read Reads a chunk by parsing it; `null` if it says more than its text.
   */
  static like(chunk: string, read: (chunk: string) => TextChunk | null): UsualChunk | null {
    const name = chunk.indexOf(CONTENT);
    if (name === -1) return null;
    const start = name + CONTENT.length;
    const received: Around = [chunk.slice(0, start), chunk.slice(endOfText(chunk, start))];
    const probed = read(received.join(PROBE));
    // Only if the placeholder becomes the chunk's text is this the place of the text, and not that of another member with this name.
    if (probed?.produced !== PROBE) return null;
    const [before, after, ...others] = probed.event.split(PROBE);
    if (before === undefined || after === undefined || others.length > 0) return null;
    return new UsualChunk(received, [before, after]);
  }

  /** @returns `null` if the chunk is not like the others. */
  read(chunk: string): TextChunk | null {
    const [before, after] = this.#received;
    if (!chunk.startsWith(before) || !chunk.endsWith(after)) return null;
    const end = chunk.length - after.length;
    if (endOfText(chunk, before.length) !== end) return null;
    const text = chunk.slice(before.length, end);
    const produced: string = text.includes("\\") ? JSON.parse(`"${text}"`) : text;
    return { produced, event: this.#sent[0] + text + this.#sent[1] };
  }
}

/** Where the text of a JSON string ends that begins at `start`. The expressions match one character each, because V8 has no memory for millions of repetitions. */
function endOfText(json: string, start: number): number {
  let at = start;
  for (;;) {
    NOT_PLAIN.lastIndex = at;
    if (!NOT_PLAIN.test(json)) return json.length;
    const special = NOT_PLAIN.lastIndex - 1;
    ESCAPE.lastIndex = special;
    if (!ESCAPE.test(json)) return special;
    at = ESCAPE.lastIndex;
  }
}
