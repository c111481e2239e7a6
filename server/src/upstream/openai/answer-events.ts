import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
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
  const reader = new ChoiceReader();
  reader.usage = readUsage(completion.usage);
  const events = [...reader.read({ ...choice, delta: choice.message })];
  return [...events, ...reader.finish()];
}

/** The events of a stream of chunks, whose data comes in lists. */
export async function* eventsOfStream(data: AsyncIterable<readonly string[]>): AsyncGenerator<AnswerEvent> {
  const reader = new ChoiceReader();
  for await (const list of data) {
    for (const text of list) {
      if (text === DONE) return yield* reader.finish();
      const chunk = parseJsonObject(text);
      if (chunk === null) throw malformedResponse();
      if (chunk.error !== undefined && chunk.error !== null) {
        throw new UpstreamRefused(500, refusalOf(500, {}, text));
      }
      reader.usage = readUsage(chunk.usage) ?? reader.usage;
      const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
      if (isJsonObject(choice)) yield* reader.read(choice);
    }
  }
  // Without `[DONE]` the stream is complete only if the choice has finished.
  yield* reader.finish();
}

/** A tool call while it is received. */
interface Call {
  readonly number: number;
  readonly id: string;
  extra: Json;
}

/** Reads the first choice of an answer, piece by piece. */
class ChoiceReader {
  usage: Usage | null = null;
  /** By the position that the upstream gives them. */
  readonly #calls = new Map<number, Call>();
  #count = 0;
  #isReasoning = false;
  #finish: string | null = null;
  #stopSequence: string | null = null;

  *read({ delta, finish_reason: finish, stop_reason: stopSequence }: JsonObject): Generator<AnswerEvent> {
    if (isJsonObject(delta)) {
      const thought = delta.reasoning_content ?? delta.reasoning;
      if (typeof thought === "string" && thought !== "") {
        this.#isReasoning = true;
        yield { kind: "reasoning", text: thought };
      }
      const text = textOf(delta.content);
      if (text !== "") {
        yield* this.#endReasoning();
        yield { kind: "text", text };
      }
      if (typeof delta.refusal === "string" && delta.refusal !== "") {
        yield* this.#endReasoning();
        yield { kind: "refusal", text: delta.refusal };
      }
      const calls = Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
      for (const [position, call] of calls.entries()) {
        if (isJsonObject(call)) yield* this.#readCall(call, position);
      }
    }
    if (typeof finish === "string") this.#finish = finish;
    // vLLM and SGLang tell the stop sequence that they have found.
    if (typeof stopSequence === "string") this.#stopSequence = stopSequence;
  }

  *finish(): Generator<AnswerEvent> {
    if (this.#finish === null) {
      throw new TransportError("cut", "the upstream's stream ended without a finish");
    }
    yield* this.#endReasoning();
    for (const { number, extra } of this.#all) {
      yield { kind: "call-end", call: number, signature: signatureOf(extra) };
    }
    const reason = this.#count > 0 && this.#finish === "stop" ? "calls" : finishOf(this.#finish);
    const stopSequence = reason === "stop" ? this.#stopSequence : null;
    yield { kind: "finish", reason, stopSequence, usage: this.usage };
  }

  readonly #all: Call[] = [];

  *#readCall(piece: JsonObject, position: number): Generator<AnswerEvent> {
    yield* this.#endReasoning();
    const { index, id, function: called, extra_content: extra } = piece;
    const { name, arguments: input } = isJsonObject(called) ? called : {};
    const key = typeof index === "number" ? index : position;
    let call = this.#calls.get(key);
    // Some servers give all calls the same position, and each an id of its own.
    const isAnother = typeof id === "string" && id !== "" && id !== call?.id;
    if (call === undefined || (isAnother && typeof name === "string" && name !== "")) {
      const ownId =
        typeof id === "string" && id !== "" ? id : `call_${crypto.randomUUID().replaceAll("-", "")}`;
      call = { number: this.#count++, id: ownId, extra: null };
      this.#calls.set(key, call);
      this.#all.push(call);
      const signature = signatureOf(extra ?? null);
      const calledName = typeof name === "string" ? name : "";
      yield { kind: "call", call: call.number, id: ownId, name: calledName, signature };
    }
    if (extra !== undefined && extra !== null) call.extra = extra;
    // Some servers write the arguments as an object.
    const text = isJsonObject(input) ? jsonText(input) : input;
    if (typeof text === "string" && text !== "") {
      yield { kind: "call-input", call: call.number, text };
    }
  }

  *#endReasoning(): Generator<AnswerEvent> {
    if (!this.#isReasoning) return;
    this.#isReasoning = false;
    yield { kind: "reasoning-end", signature: null };
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

function finishOf(reason: string): FinishReason {
  switch (reason) {
    case "length":
      return "length";
    case "content_filter":
      return "filter";
    case "tool_calls":
    case "function_call":
      return "calls";
    default:
      return "stop";
  }
}
