import { CHAT_SIGNS, LAST_CHUNK } from "../../conversation/signs.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import { addProduced, type Usage } from "../../tokens/token-estimate.ts";
import type { ForwardCall, StreamedAnswer } from "../dialect.ts";
import { type EventForwarder, forwardedEvents, oneLine } from "../forward-events.ts";
import { incompleteAnswer } from "../read-answer.ts";
import { malformedResponse, refusalOf } from "../refusal.ts";
import { ChunkEditor } from "./chunk-editor.ts";
import { readUsage } from "./usage.ts";

const DONE = "[DONE]";

/** A streamed answer, with its chunks edited for the client. */
export function streamedAnswer(call: ForwardCall, body: AsyncIterable<Uint8Array>): StreamedAnswer {
  const chunks = new ChunkForwarder(call);
  return {
    kind: "stream",
    events: forwardedEvents(body, chunks),
    last: () => LAST_CHUNK,
    signs: CHAT_SIGNS,
    usage: () => chunks.usage,
    produced: () => chunks.produced,
    ignored: () => [],
  };
}

/** Edits an upstream's chunks for the client, and collects usage and text. */
class ChunkForwarder implements EventForwarder {
  readonly sendsFirstAhead = true;
  readonly produced = new TextTally();
  usage: Usage | null = null;
  /** Whether the upstream has sent `[DONE]`. */
  isDone = false;
  /** Whether some choice has finished. */
  #isFinished = false;
  readonly #includesUsage: boolean;
  readonly #editor: ChunkEditor;

  constructor({ publicModel, request: { includeUsage } }: ForwardCall) {
    this.#includesUsage = includeUsage;
    this.#editor = new ChunkEditor(publicModel, !includeUsage);
  }

  /** The client's event for a chunk; empty for a chunk of usage that the client did not request. */
  forward(data: string): string {
    if (data === DONE) {
      this.isDone = true;
      return "";
    }
    const chunk = this.#editor.edit(data);
    if (chunk === null) throw malformedResponse();
    const { value } = chunk;
    if (value.error !== undefined && value.error !== null) throw refusalOf(500, data);
    this.usage = readUsage(value.usage) ?? this.usage;
    addProduced(value.choices, this.produced);
    this.#isFinished ||= hasFinish(value);
    const isHidden = !this.#includesUsage && "usage" in value;
    if (isHidden && Array.isArray(value.choices) && value.choices.length === 0) return "";
    return `data: ${oneLine(chunk.text)}\n\n`;
  }

  /** Without `[DONE]` the stream is complete only if some choice has finished. */
  end(): void {
    if (!this.#isFinished) throw incompleteAnswer("a finish");
  }
}

function hasFinish(chunk: JsonObject): boolean {
  const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
  return choices.some((choice) => isJsonObject(choice) && typeof choice.finish_reason === "string");
}
