import { describe, expect, it } from "vitest";
import { EventReader, EventTooLarge } from "../../sdk/src/contract/event-reader.ts";

const STREAM = [
  "\u{feff}data: one\n\n",
  ": a comment\ndata:two\r\n\r\n",
  "event: x\rid: 7\rdata: three\rdata: lines\r\r",
  "data:  a space stays\n\n",
  "data\n\ndata: ü€𝄞\n\n\n\n",
  "datax: nothing\n\ndata: last",
].join("");
const EVENTS = ["one", "two", "three\nlines", " a space stays", "ü€𝄞", "last"];

/** The stream in pieces of so many bytes, each a view of the whole. */
function eventsOf(bytes: Uint8Array, piece: number): string[] {
  const reader = new EventReader(16 * 1024 * 1024);
  const events: string[] = [];
  for (let start = 0; start < bytes.length; start += piece)
    events.push(...reader.push(bytes.subarray(start, start + piece)));
  return [...events, ...reader.end()];
}

describe("a stream of server-sent events", () => {
  it("parses alike wherever it is divided", () => {
    const bytes = new TextEncoder().encode(STREAM);
    for (let piece = 1; piece <= bytes.length; piece++)
      expect(eventsOf(bytes, piece), `${piece}`).toEqual(EVENTS);
  });

  it("parses alike with other line ends, wherever it is divided", () => {
    for (const lineEnd of ["\r\n", "\r"]) {
      const bytes = new TextEncoder().encode(STREAM.replace(/\r\n|\r|\n/g, lineEnd));
      for (let piece = 1; piece <= bytes.length; piece++)
        expect(eventsOf(bytes, piece), `${piece}`).toEqual(EVENTS);
    }
  });

  it("keeps no reference to a piece whose memory is reused", () => {
    const reader = new EventReader(16 * 1024 * 1024);
    const piece = Buffer.from("data: one\n\ndata: tw");
    expect(reader.push(piece)).toEqual(["one"]);
    piece.fill("x");
    expect(reader.push(new TextEncoder().encode("o\n\n"))).toEqual(["two"]);
  });

  it("may be long, while each event has a maximum length", () => {
    const megabyte = new TextEncoder().encode(`data: ${"x".repeat(1024 * 1024)}\n`);
    const reader = new EventReader(16 * 1024 * 1024);
    for (let count = 0; count < 40; count++) {
      expect(reader.push(megabyte)).toEqual([]);
      expect(reader.push(new TextEncoder().encode("\n"))).toHaveLength(1);
    }
    for (const lineEnd of [megabyte, megabyte.subarray(0, -1)]) {
      const flooded = new EventReader(16 * 1024 * 1024);
      expect(() => {
        for (let count = 0; count < 17; count++) flooded.push(lineEnd);
      }).toThrow(EventTooLarge);
    }
  });
});
