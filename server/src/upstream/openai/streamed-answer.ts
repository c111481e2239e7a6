import { setImmediate } from "node:timers/promises";
import { EventReader, EventTooLarge } from "../../../../sdk/src/contract/event-reader.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import { addProduced, type Usage } from "../../tokens/token-estimate.ts";
import { type ChatAnswer, type ChatCall, UpstreamRefused } from "../dialect.ts";
import { TransportError } from "../transport.ts";
import { ChunkEditor } from "./chunk-editor.ts";
import { malformedResponse, refusalOf } from "./refusal.ts";
import { readUsage } from "./usage.ts";

const DONE = "[DONE]";
/** An event larger than this is not a model's answer. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** A streamed answer, with its chunks translated for the client. */
export function streamedAnswer(call: ChatCall, body: AsyncIterable<Uint8Array>): ChatAnswer {
  const chunks = new ChunkTranslator(call);
  return {
    kind: "stream",
    events: translated(chunks, body),
    usage: () => chunks.usage,
    produced: () => chunks.produced,
    ignored: () => [],
  };
}

/**
 * Yields one piece of text for each piece from the upstream, however many events are in it. Only the first event is sent ahead
 * of the rest of its piece.
 */
async function* translated(chunks: ChunkTranslator, body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const events = new EventReader(MAX_EVENT_BYTES);
  let isFirst = true;
  for await (const bytes of body) {
    let rest = bytes;
    if (isFirst) {
      // Only the first event of the piece is translated now.
      const end = endOfEvent(bytes);
      rest = bytes.subarray(end);
      const first = chunks.translate(() => events.push(bytes.subarray(0, end)));
      if (first !== "") {
        isFirst = false;
        yield first;
        // The first event is sent before the rest is translated.
        if (rest.length > 0) await setImmediate();
      }
      if (chunks.fault !== null) throw chunks.fault;
    }
    const text = rest.length > 0 ? chunks.translate(() => events.push(rest)) : "";
    if (text !== "") yield text;
    if (chunks.fault !== null) throw chunks.fault;
    if (chunks.isDone) return;
  }
  const text = chunks.translate(() => events.end());
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

/** Translates an upstream's chunks for the client, and collects usage and text. */
class ChunkTranslator {
  readonly produced = new TextTally();
  usage: Usage | null = null;
  /** Whether some choice has finished. */
  isFinished = false;
  /** Whether the upstream has sent `[DONE]`. */
  isDone = false;
  /** The error that ended the stream. Events before it are valid. */
  fault: Error | null = null;
  readonly #call: ChatCall;
  readonly #editor: ChunkEditor;

  constructor(call: ChatCall) {
    this.#call = call;
    this.#editor = new ChunkEditor(call.publicModel, !call.includeUsage);
  }

  /** The client's events for those that `read` returns; may be empty. */
  translate(read: () => readonly string[]): string {
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
    const isHidden = !this.#call.includeUsage && "usage" in value;
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
