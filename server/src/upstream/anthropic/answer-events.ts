import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { jsonText } from "../json-text.ts";
import { malformedResponse } from "../refusal.ts";
import { TransportError } from "../transport.ts";
import { refusedIn } from "./error-event.ts";
import { readMessagesUsage } from "./usage.ts";

/**
 * The events of a whole answer.
 *
 * @param answerTool The tool whose input is the answer, for models without structured outputs; `null`: none.
 * @throws {UpstreamRefused} for a malformed answer.
 */
export function eventsOfMessage(text: string, answerTool: string | null): readonly AnswerEvent[] {
  const message = parseJsonObject(text);
  if (message === null || !Array.isArray(message.content)) throw malformedResponse();
  const reader = new MessageReader(answerTool);
  const events = message.content.flatMap((block: Json, index) => [
    ...reader.start(index, block),
    ...reader.stop(index),
  ]);
  reader.note(message);
  return [...events, ...reader.finish()];
}

/** The events of a streamed answer. @param answerTool As of {@link eventsOfMessage}. */
export async function* eventsOfStream(
  data: AsyncIterable<readonly string[]>,
  answerTool: string | null,
): AsyncGenerator<AnswerEvent> {
  const reader = new MessageReader(answerTool);
  for await (const list of data) {
    for (const text of list) {
      const event = parseJsonObject(text);
      if (event === null || typeof event.type !== "string") throw malformedResponse();
      switch (event.type) {
        case "error":
          throw refusedIn(event, text);
        case "message_start":
          if (isJsonObject(event.message)) reader.noteBeginning(event.message.usage);
          break;
        case "content_block_start":
          yield* reader.start(event.index, event.content_block);
          break;
        case "content_block_delta":
          yield* reader.delta(event.index, event.delta);
          break;
        case "content_block_stop":
          yield* reader.stop(event.index);
          break;
        case "message_delta":
          reader.note({ ...(isJsonObject(event.delta) ? event.delta : {}), usage: event.usage });
          break;
        case "message_stop":
          yield* reader.finish();
          return;
      }
    }
  }
  throw new TransportError("cut", "the upstream's stream ended without message_stop");
}

/** A block of the answer while it is received. */
type Block =
  | { readonly kind: "text" }
  | { readonly kind: "thinking"; signature: string }
  | { readonly kind: "call"; readonly call: number; hasInput: boolean };

/** Reads a message block by block. Blocks of tools that the provider runs itself are left out. */
class MessageReader {
  readonly #answerTool: string | null;
  /** The text beside the tool for JSON, which counts only if the tool is not called. */
  #heldBack = "";
  #isAnswered = false;
  #hasFinalUsage = false;
  /** Blocks that have not ended. `null`: one that is left out. */
  readonly #blocks = new Map<Json | undefined, Block | null>();
  #calls = 0;
  #usage: JsonObject = {};
  #stopReason: Json = null;
  #stopSequence: Json = null;

  constructor(answerTool: string | null) {
    this.#answerTool = answerTool;
  }

  /** Notes the usage at the beginning of a stream, which is not that of the answer. */
  noteBeginning(usage: Json | undefined): void {
    if (isJsonObject(usage)) this.#addUsage(usage);
  }

  /** Notes the usage and the reason for the end; the usage of the end overwrites that of the beginning. */
  note({ usage, stop_reason: reason, stop_sequence: sequence }: JsonObject): void {
    if (isJsonObject(usage)) {
      this.#addUsage(usage);
      this.#hasFinalUsage ||= typeof usage.output_tokens === "number";
    }
    if (typeof reason === "string") this.#stopReason = reason;
    if (typeof sequence === "string") this.#stopSequence = sequence;
  }

  *start(index: Json | undefined, block: Json | undefined): Generator<AnswerEvent> {
    if (!isJsonObject(block)) throw malformedResponse();
    switch (block.type) {
      case "text":
        this.#blocks.set(index, { kind: "text" });
        yield* this.#text(textOf(block.text));
        break;
      case "thinking":
        this.#blocks.set(index, { kind: "thinking", signature: textOf(block.signature) });
        if (textOf(block.thinking) !== "") yield { kind: "reasoning", text: textOf(block.thinking) };
        break;
      case "redacted_thinking":
        this.#blocks.set(index, null);
        yield { kind: "reasoning-end", signature: signatureOf("redactedData", textOf(block.data)) };
        break;
      case "tool_use":
        yield* this.#startCall(index, block);
        break;
      default:
        this.#blocks.set(index, null);
    }
  }

  *delta(index: Json | undefined, delta: Json | undefined): Generator<AnswerEvent> {
    const block = this.#blocks.get(index);
    if (block === undefined || !isJsonObject(delta)) throw malformedResponse();
    if (block === null) return;
    if (delta.type === "text_delta") {
      yield* this.#text(textOf(delta.text));
    } else if (delta.type === "thinking_delta" && textOf(delta.thinking) !== "") {
      yield { kind: "reasoning", text: textOf(delta.thinking) };
    } else if (delta.type === "signature_delta" && block.kind === "thinking") {
      block.signature += textOf(delta.signature);
    } else if (delta.type === "input_json_delta" && textOf(delta.partial_json) !== "") {
      yield* input(block, textOf(delta.partial_json));
    }
  }

  *stop(index: Json | undefined): Generator<AnswerEvent> {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.kind === "thinking") {
      yield { kind: "reasoning-end", signature: signatureOf("signature", block.signature) };
    } else if (block?.kind === "call") {
      // A call without parameters has no piece of input.
      if (!block.hasInput) yield* input(block, "{}");
      yield { kind: "call-end", call: block.call, signature: null };
    }
  }

  *finish(): Generator<AnswerEvent> {
    if (this.#stopReason === null) {
      throw new TransportError("cut", "the upstream's answer ended without a reason");
    }
    for (const index of [...this.#blocks.keys()]) yield* this.stop(index);
    if (this.#heldBack !== "" && !this.#isAnswered) yield { kind: "text", text: this.#heldBack };
    yield {
      kind: "finish",
      reason: finishOf(this.#stopReason, this.#calls > 0),
      stopSequence: typeof this.#stopSequence === "string" ? this.#stopSequence : null,
      usage: this.#hasFinalUsage ? readMessagesUsage(this.#usage) : null,
    };
  }

  #addUsage(usage: JsonObject): void {
    const told = Object.entries(usage).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) };
  }

  *#text(text: string): Generator<AnswerEvent> {
    if (text === "") return;
    if (this.#answerTool === null) yield { kind: "text", text };
    else this.#heldBack += text;
  }

  *#startCall(index: Json | undefined, { id, name, input: whole }: JsonObject): Generator<AnswerEvent> {
    if (typeof id !== "string" || typeof name !== "string") throw malformedResponse();
    let block: Block = { kind: "text" };
    if (name === this.#answerTool) {
      this.#isAnswered = true;
    } else {
      block = { kind: "call", call: this.#calls++, hasInput: false };
      yield { kind: "call", call: block.call, id, name };
    }
    this.#blocks.set(index, block);
    if (isJsonObject(whole) && Object.keys(whole).length > 0) yield* input(block, jsonText(whole));
  }
}

/** A piece of a call's input. That of the tool for JSON is the answer's text. */
function* input(block: Block, text: string): Generator<AnswerEvent> {
  if (block.kind === "text") yield { kind: "text", text };
  if (block.kind !== "call") return;
  block.hasInput = true;
  yield { kind: "call-input", call: block.call, text };
}

function signatureOf(name: string, value: string): Signature | null {
  return value === "" ? null : { provider: "anthropic", fields: { [name]: value } };
}

function finishOf(reason: Json, hasCalls: boolean): FinishReason {
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "refusal":
      return "filter";
    case "tool_use":
      return hasCalls ? "calls" : "stop";
    default:
      return "stop";
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
