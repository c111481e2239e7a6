import { setImmediate } from "node:timers/promises";
import { EventReader, EventTooLarge } from "../../../../sdk/src/contract/event-reader.ts";
import { CHAT_SIGNS, LAST_CHUNK } from "../../conversation/signs.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import { addProduced, type Usage } from "../../tokens/token-estimate.ts";
import { type ForwardCall, type StreamedAnswer, UpstreamRefused } from "../dialect.ts";
import { malformedResponse, refusalOf } from "../refusal.ts";
import { TransportError } from "../transport.ts";
import { ChunkEditor } from "./chunk-editor.ts";
import { readUsage } from "./usage.ts";

const DONE = "[DONE]";
/** An event larger than this is not a model's answer. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** A streamed answer, with its chunks edited for the client. */
export function streamedAnswer(call: ForwardCall, body: AsyncIterable<Uint8Array>): StreamedAnswer {
  const chunks = new ChunkForwarder(call);
  return {
    kind: "stream",
    events: edited(chunks, body),
    last: () => LAST_CHUNK,
    signs: CHAT_SIGNS,
    usage: () => chunks.usage,
    produced: () => chunks.produced,
    ignored: () => [],
  };
}

/**
 * Yields one piece of text for each piece from the upstream, however many events are in it. Only the first event is sent ahead
 * of the rest of its piece.
 */
async function* edited(chunks: ChunkForwarder, body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const events = new EventReader(MAX_EVENT_BYTES);
  let isFirst = true;
  for await (const bytes of body) {
    let rest = bytes;
    if (isFirst) {
      // Only the first event of the piece is edited now.
      const end = endOfEvent(bytes);
      rest = bytes.subarray(end);
      const first = chunks.forward(() => events.push(bytes.subarray(0, end)));
      if (first !== "") {
        isFirst = false;
        yield first;
        // The first event is sent before the rest is edited.
        if (rest.length > 0) await setImmediate();
      }
      if (chunks.fault !== null) throw chunks.fault;
    }
    const text = rest.length > 0 ? chunks.forward(() => events.push(rest)) : "";
    if (text !== "") yield text;
    if (chunks.fault !== null) throw chunks.fault;
    if (chunks.isDone) return;
  }
  const text = chunks.forward(() => events.end());
  if (text !== "") yield text;
  if (chunks.fault !== null) throw chunks.fault;
  // Without `[DONE]` the stream is complete only if some choice has finished.
  if (!chunks.isDone && !chunks.isFinished) {
    throw new TransportError("cut", "the upstream's stream ended without a finish");
  }
}

/** The position after the piece's first event, or the end of the piece if no event ends in it with a blank line. */
function endOfEvent(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === LINE_FEED) return at + 2;
  }
  return bytes.length;
}

/** Edits an upstream's chunks for the client, and collects usage and text. */
class ChunkForwarder {
  readonly produced = new TextTally();
  usage: Usage | null = null;
  /** Whether some choice has finished. */
  isFinished = false;
  /** Whether the upstream has sent `[DONE]`. */
  isDone = false;
  /** The error that ended the stream. Events before it are valid. */
  fault: Error | null = null;
  readonly #call: ForwardCall;
  readonly #editor: ChunkEditor;

  constructor(call: ForwardCall) {
    this.#call = call;
    this.#editor = new ChunkEditor(call.publicModel, !call.request.includeUsage);
  }

  /** The client's events for those that `read` returns; may be empty. */
  forward(read: () => readonly string[]): string {
    let text = "";
    if (this.isDone) return text;
    try {
      for (const data of read()) {
        if (data === DONE) {
          this.isDone = true;
          break;
        }
        text += this.#eventFor(data);
      }
    } catch (error) {
      this.fault = error instanceof EventTooLarge ? malformedResponse() : toError(error);
    }
    return text;
  }

  /** The client's event for a chunk; empty for a chunk of usage that the client did not request. */
  #eventFor(data: string): string {
    const chunk = this.#editor.edit(data);
    if (chunk === null) throw malformedResponse();
    const { value } = chunk;
    if (value.error !== undefined && value.error !== null) {
      throw new UpstreamRefused(500, refusalOf(500, {}, data));
    }
    this.usage = readUsage(value.usage) ?? this.usage;
    addProduced(value.choices, this.produced);
    this.isFinished ||= hasFinish(value);
    const isHidden = !this.#call.request.includeUsage && "usage" in value;
    if (isHidden && Array.isArray(value.choices) && value.choices.length === 0) return "";
    const { text } = chunk;
    // Data of several lines is one event. A line break in JSON is white space.
    return `data: ${text.includes("\n") ? text.replaceAll("\n", " ") : text}\n\n`;
  }
}

function hasFinish(chunk: JsonObject): boolean {
  const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
  return choices.some((choice) => isJsonObject(choice) && typeof choice.finish_reason === "string");
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("not an error", { cause: thrown });
}
