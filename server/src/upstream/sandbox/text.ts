/**
 * The sandbox's own tokens: pieces of at most four characters that never span white space, each with the white space
 * before it. Linear in the text's length.
 */
export function* tokensOf(text: string): Generator<string> {
  for (const [piece] of text.matchAll(/\s*\S{1,4}|\s+/g)) yield piece;
}

export function countTokens(text: string): number {
  let count = 0;
  for (const _ of tokensOf(text)) count++;
  return count;
}

export type FinishReason = "stop" | "length" | "tool_calls";

/** Pieces of a text, each a token; returns why it ended. Made as it is asked for: a long text is never whole. */
export type TextPieces = Generator<string, FinishReason>;

/** A given text. */
export function* echo(text: string): TextPieces {
  yield* tokensOf(text);
  return "stop";
}

const WORDS =
  "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea commodo consequat".split(
    " ",
  );

/** Words without end, the same for the same seed. */
export function* lorem(seed: number): TextPieces {
  let state = seed >>> 0;
  for (let count = 0; ; count++) {
    // Mulberry32: small, and the same on every runtime.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    const word = WORDS[((mixed ^ (mixed >>> 14)) >>> 0) % WORDS.length] ?? "lorem";
    yield count === 0 ? word : ` ${word}`;
  }
}

/** At most that many tokens. */
export function* upTo(maxTokens: number | null, pieces: TextPieces): TextPieces {
  for (let count = 0; ; count++) {
    const next = pieces.next();
    if (next.done) return next.value;
    if (count === maxTokens) return "length";
    yield next.value;
  }
}

/** Ends before the first stop sequence, also where it spans pieces. */
export function* untilStop(stops: readonly string[], pieces: TextPieces): TextPieces {
  if (stops.length === 0) return yield* pieces;
  const held = Math.max(...stops.map((stop) => stop.length)) - 1;
  let buffer = "";
  for (let next = pieces.next(); ; next = pieces.next()) {
    if (next.done) {
      if (buffer !== "") yield buffer;
      return next.value;
    }
    buffer += next.value;
    const found = stops.map((stop) => buffer.indexOf(stop)).filter((at) => at !== -1);
    if (found.length > 0) {
      const text = buffer.slice(0, Math.min(...found));
      if (text !== "") yield text;
      return "stop";
    }
    if (buffer.length > held) {
      yield buffer.slice(0, buffer.length - held);
      buffer = buffer.slice(buffer.length - held);
    }
  }
}
