import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { AnswerReader, eventsRead } from "../answer-reader.ts";
import { UpstreamRefused } from "../dialect.ts";
import { jsonText } from "../json-text.ts";
import { malformedResponse, refusalOf } from "../refusal.ts";
import { TransportError } from "../transport.ts";
import { EXTRA_CONTENT } from "./conversation-body.ts";
import { readUsage } from "./usage.ts";

const DONE = "[DONE]";

/** The events of a whole chat completion. @throws {UpstreamRefused} for a malformed one. */
export function eventsOfCompletion(text: string): readonly AnswerEvent[] {
  const completion = parseJsonObject(text);
  const [choice] = Array.isArray(completion?.choices) ? completion.choices : [];
  if (completion === null || !isJsonObject(choice)) throw malformedResponse();
  const reader = new ChunkReader();
  reader.readChoice({ ...choice, delta: choice.message });
  reader.finish(readUsage(completion.usage));
  return reader.takeEvents();
}

/** The events of a stream of chunks, those of a piece together. */
export async function* eventsOfStream(
  data: AsyncIterable<readonly string[]>,
): AsyncGenerator<readonly AnswerEvent[]> {
  const reader = new ChunkReader();
  yield* eventsRead(data, reader);
  if (reader.isOver) return;
  // Without `[DONE]` the stream is complete only if the choice has finished.
  reader.finish();
  yield reader.takeEvents();
}

/** A tool call while it is received. */
interface Call {
  readonly number: number;
  readonly id: string;
  extra: Json;
}

/** Reads the chunks of an answer, of which the first choice counts. */
class ChunkReader extends AnswerReader {
  #usage: Usage | null = null;
  /** By the position that the upstream gives them. */
  readonly #calls = new Map<number, Call>();
  readonly #all: Call[] = [];
  #isReasoning = false;
  #reason: string | null = null;
  #stopSequence: string | null = null;

  read(text: string): void {
    if (text === DONE) {
      this.finish();
      return;
    }
    const chunk = parseJsonObject(text);
    if (chunk === null) throw malformedResponse();
    if (chunk.error !== undefined && chunk.error !== null) {
      throw new UpstreamRefused(500, refusalOf(500, {}, text));
    }
    this.#usage = readUsage(chunk.usage) ?? this.#usage;
    const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
    if (isJsonObject(choice)) this.readChoice(choice);
  }

  readChoice({ delta, finish_reason: reason, stop_reason: stopSequence }: JsonObject): void {
    if (isJsonObject(delta)) this.#readDelta(delta);
    if (typeof reason === "string") this.#reason = reason;
    // vLLM and SGLang tell the stop sequence that they have found.
    if (typeof stopSequence === "string") this.#stopSequence = stopSequence;
  }

  finish(usage: Usage | null = this.#usage): void {
    if (this.#reason === null)
      throw new TransportError("cut", "the upstream's stream ended without a finish");
    const reason = finishOf(this.#reason, this.#all.length > 0);
    this.#endReasoning();
    // The input of the last call of an answer that was cut off may be incomplete.
    const ended = reason === "length" || reason === "filter" ? this.#all.slice(0, -1) : this.#all;
    for (const { number, extra } of ended) {
      this.found({ kind: "call-end", call: number, signature: signatureOf(extra) });
    }
    const stopSequence = reason === "stop" ? this.#stopSequence : null;
    this.found({ kind: "finish", reason, stopSequence, usage });
  }

  #readDelta(delta: JsonObject): void {
    const thought = delta.reasoning_content ?? delta.reasoning;
    if (typeof thought === "string" && thought !== "") {
      this.#isReasoning = true;
      this.found({ kind: "reasoning", text: thought });
    }
    const text = textOf(delta.content);
    if (text !== "") {
      this.#endReasoning();
      this.found({ kind: "text", text });
    }
    if (typeof delta.refusal === "string" && delta.refusal !== "") {
      this.#endReasoning();
      this.found({ kind: "refusal", text: delta.refusal });
    }
    const calls = Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
    for (const [position, call] of calls.entries()) if (isJsonObject(call)) this.#readCall(call, position);
  }

  #readCall(piece: JsonObject, position: number): void {
    this.#endReasoning();
    const { index, id, function: called, extra_content: extra } = piece;
    const { name, arguments: input } = isJsonObject(called) ? called : {};
    const key = typeof index === "number" ? index : position;
    let call = this.#calls.get(key);
    // Some servers give all calls the same position, and each an id of its own.
    const isAnother = typeof id === "string" && id !== "" && id !== call?.id;
    if (call === undefined || (isAnother && typeof name === "string" && name !== "")) {
      const ownId =
        typeof id === "string" && id !== "" ? id : `call_${crypto.randomUUID().replaceAll("-", "")}`;
      call = { number: this.#all.length, id: ownId, extra: null };
      this.#calls.set(key, call);
      this.#all.push(call);
      const signature = signatureOf(extra ?? null);
      const calledName = typeof name === "string" ? name : "";
      this.found({ kind: "call", call: call.number, id: ownId, name: calledName, signature });
    }
    if (extra !== undefined && extra !== null) call.extra = extra;
    // Some servers write the arguments as an object.
    const text = isJsonObject(input) ? jsonText(input) : input;
    if (typeof text === "string" && text !== "") {
      this.found({ kind: "call-input", call: call.number, text });
    }
  }

  #endReasoning(): void {
    if (!this.#isReasoning) return;
    this.#isReasoning = false;
    this.found({ kind: "reasoning-end", signature: null });
  }
}

/** The text of a content, which some servers write as parts. */
function textOf(content: Json | undefined): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw malformedResponse();
  return content
    .map((part: Json) => (isJsonObject(part) && typeof part.text === "string" ? part.text : ""))
    .join("");
}

function signatureOf(extra: Json): Signature | null {
  return isJsonObject(extra)
    ? { provider: EXTRA_CONTENT, fields: { extra_content: JSON.stringify(extra) } }
    : null;
}

/** Some servers tell of calls that they have not made, or not of those that they have. */
function finishOf(reason: string, hasCalls: boolean): FinishReason {
  switch (reason) {
    case "length":
      return "length";
    case "content_filter":
      return "filter";
    case "stop":
    case "tool_calls":
    case "function_call":
      return hasCalls ? "calls" : "stop";
    default:
      return "stop";
  }
}
