import { EventReader, EventTooLarge } from "../../../sdk/src/contract/event-reader.ts";
import { MAX_NUMERALS } from "../json/bounded-parser.ts";
import { type ScanLimits, scanObject } from "../json/json-text.ts";
import { malformedResponse } from "./refusal.ts";
import type { ResponseBody, TransportResponse } from "./transport.ts";

/** An answer that is longer is not a model's. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** An event larger than this is not a model's answer. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/**
 * The maximum number of bytes, such as comments, that a stream may have between two events that are passed on. An upstream that sends nothing else
 * would otherwise use up the processor until its timeout.
 */
export const MAX_SILENT_BYTES = MAX_EVENT_BYTES;
/**
 * What an answer or an event may hold: as much as one of 16,000 tokens with 20 alternatives for each. Megabytes of empty objects, or of names that
 * differ, would take seconds and a gigabyte to be parsed. Numbers are cheap, and embeddings have millions.
 */
const ANSWER_LIMITS: ScanLimits = {
  depth: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  containers: 1_000_000,
  names: 1_000_000,
  strings: 2_000_000,
  numerals: MAX_NUMERALS,
  members: 1_000,
};
/** A text of this length can't hold enough to take long. */
const UNCOUNTED_CHARACTERS = 32 * 1024;
const decoder = new TextDecoder();

/**
 * The text of an answer, without a promise if it was received together with its head and there is memory for it.
 *
 * @throws {UpstreamRefused} when it is longer than a model's answer can be, or holds more.
 * @throws {NoAnswerMemory} when there is no memory for it.
 */
export function answerText({ body }: TransportResponse): string | Promise<string> {
  const bytes = body.takeWhole?.() ?? null;
  if (bytes === null) return readText(body, MAX_ANSWER_BYTES).then(answerOf);
  if (bytes.length > MAX_ANSWER_BYTES) throw malformedResponse();
  const free = body.memory?.reserveWhenFree(bytes.length) ?? null;
  const text = () => parseable(decoder.decode(bytes));
  return free === null ? text() : free.then(text);
}

/** @param text `null`: it is too long. */
function answerOf(text: string | null): string {
  if (text === null) throw malformedResponse();
  return parseable(text);
}

/** The text of an answer or an event, which is an object if it is long. @throws {UpstreamRefused} when it would take too long to be parsed. */
export function parseable(text: string): string {
  const isShort = text.length <= UNCOUNTED_CHARACTERS;
  if (isShort || scanObject(text, ANSWER_LIMITS).kind === "object") return text;
  throw malformedResponse();
}

/** The data of a stream's server-sent events: all that a piece from the upstream contains, together. @throws as {@link answerText}. */
export async function* eventDataOf(body: ResponseBody): AsyncGenerator<readonly string[]> {
  const events = new EventReader(MAX_EVENT_BYTES);
  let reserved = 0;
  let silentBytes = 0;
  try {
    for await (const bytes of body) {
      const data = events.push(bytes);
      silentBytes = data.some((text) => text !== "") ? 0 : silentBytes + bytes.length;
      if (silentBytes > MAX_SILENT_BYTES) throw malformedResponse();
      reserved = reservePending(events, reserved, body);
      if (data.length > 0) yield data;
    }
    const data = events.end();
    if (data.length > 0) yield data;
  } catch (error) {
    throw error instanceof EventTooLarge ? malformedResponse() : error;
  }
}

/** Reserves what an event that has not ended keeps in memory. `reserved`: for events before; returns what is reserved then. */
export function reservePending(
  { pendingBytes }: EventReader,
  reserved: number,
  { memory }: ResponseBody,
): number {
  if (pendingBytes <= reserved) return reserved;
  memory?.reserve(pendingBytes - reserved);
  return pendingBytes;
}

/** The text of a body; `null` if it is longer. @throws {NoAnswerMemory} when there is no memory for it. */
export async function readText(body: ResponseBody, maxBytes: number): Promise<string | null> {
  const { chunks, isWhole } = await readChunks(body, maxBytes);
  return isWhole ? decoded(chunks) : null;
}

/** The text of a body, or its beginning if it is longer. @throws as {@link readText}. */
export async function readBeginning(
  body: ResponseBody,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const { chunks, isWhole } = await readChunks(body, maxBytes);
  return { text: decoded(chunks), isWhole };
}

async function readChunks(body: ResponseBody, maxBytes: number) {
  const chunks: Uint8Array[] = [];
  let left = maxBytes;
  for await (const chunk of body) {
    const kept = chunk.subarray(0, left);
    const free = body.memory?.reserveWhenFree(kept.length) ?? null;
    if (free !== null) await free;
    chunks.push(kept);
    if (chunk.length > left) return { chunks, isWhole: false };
    left -= chunk.length;
  }
  return { chunks, isWhole: true };
}

function decoded(chunks: readonly Uint8Array[]): string {
  const [first] = chunks;
  // Decoding in one call is several times as fast as in a stream.
  return decoder.decode(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
}
