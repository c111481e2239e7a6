import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { AnswerReader, eventsRead } from "../answer-reader.ts";
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
  for (const [index, block] of message.content.entries()) {
    reader.start(index, block);
    reader.stop(index);
  }
  reader.note(message);
  reader.finish();
  return reader.takeEvents();
}

/** The events of a streamed answer, those of a piece together. @param answerTool As of {@link eventsOfMessage}. */
export async function* eventsOfStream(
  data: AsyncIterable<readonly string[]>,
  answerTool: string | null,
): AsyncGenerator<readonly AnswerEvent[]> {
  const reader = new MessageReader(answerTool);
  yield* eventsRead(data, reader);
  if (!reader.isOver) throw new TransportError("cut", "the upstream's stream ended without message_stop");
}

/** A block of the answer while it is received. */
type Block =
  | { readonly kind: "text" }
  | { readonly kind: "thinking"; signature: string }
  | { readonly kind: "call"; readonly call: number; hasInput: boolean };

/** Reads a message block by block. Blocks of tools that the provider runs itself are left out. */
class MessageReader extends AnswerReader {
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
    super();
    this.#answerTool = answerTool;
  }

  read(text: string): void {
    const event = parseJsonObject(text);
    if (event === null || typeof event.type !== "string") throw malformedResponse();
    switch (event.type) {
      case "error":
        throw refusedIn(event, text);
      case "message_start":
        // Its usage is not that of the answer.
        if (isJsonObject(event.message) && isJsonObject(event.message.usage))
          this.#addUsage(event.message.usage);
        break;
      case "content_block_start":
        this.start(event.index, event.content_block);
        break;
      case "content_block_delta":
        this.#readDelta(event.index, event.delta);
        break;
      case "content_block_stop":
        this.stop(event.index);
        break;
      case "message_delta":
        this.note({ ...(isJsonObject(event.delta) ? event.delta : {}), usage: event.usage });
        break;
      case "message_stop":
        this.finish();
    }
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

  start(index: Json | undefined, block: Json | undefined): void {
    if (!isJsonObject(block)) throw malformedResponse();
    switch (block.type) {
      case "text":
        this.#blocks.set(index, { kind: "text" });
        this.#text(textOf(block.text));
        break;
      case "thinking":
        this.#blocks.set(index, { kind: "thinking", signature: textOf(block.signature) });
        if (textOf(block.thinking) !== "") this.found({ kind: "reasoning", text: textOf(block.thinking) });
        break;
      case "redacted_thinking":
        this.#blocks.set(index, null);
        this.found({ kind: "reasoning-end", signature: signatureOf("redactedData", textOf(block.data)) });
        break;
      case "tool_use":
        this.#startCall(index, block);
        break;
      default:
        this.#blocks.set(index, null);
    }
  }

  #readDelta(index: Json | undefined, delta: Json | undefined): void {
    const block = this.#blocks.get(index);
    if (block === undefined || !isJsonObject(delta)) throw malformedResponse();
    if (block === null) return;
    if (delta.type === "text_delta") {
      this.#text(textOf(delta.text));
    } else if (delta.type === "thinking_delta" && textOf(delta.thinking) !== "") {
      this.found({ kind: "reasoning", text: textOf(delta.thinking) });
    } else if (delta.type === "signature_delta" && block.kind === "thinking") {
      block.signature += textOf(delta.signature);
    } else if (delta.type === "input_json_delta" && textOf(delta.partial_json) !== "") {
      this.#input(block, textOf(delta.partial_json));
    }
  }

  stop(index: Json | undefined): void {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.kind === "thinking") {
      this.found({ kind: "reasoning-end", signature: signatureOf("signature", block.signature) });
    } else if (block?.kind === "call") {
      // A call without parameters has no piece of input.
      if (!block.hasInput) this.#input(block, "{}");
      this.found({ kind: "call-end", call: block.call, signature: null });
    }
  }

  finish(): void {
    if (this.#stopReason === null) {
      throw new TransportError("cut", "the upstream's answer ended without a reason");
    }
    for (const index of [...this.#blocks.keys()]) this.stop(index);
    if (this.#heldBack !== "" && !this.#isAnswered) this.found({ kind: "text", text: this.#heldBack });
    this.found({
      kind: "finish",
      reason: finishOf(this.#stopReason, this.#calls > 0),
      stopSequence: typeof this.#stopSequence === "string" ? this.#stopSequence : null,
      usage: this.#hasFinalUsage ? readMessagesUsage(this.#usage) : null,
    });
  }

  #addUsage(usage: JsonObject): void {
    const told = Object.entries(usage).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) };
  }

  #text(text: string): void {
    if (text === "") return;
    if (this.#answerTool === null) this.found({ kind: "text", text });
    else this.#heldBack += text;
  }

  #startCall(index: Json | undefined, { id, name, input: whole }: JsonObject): void {
    if (typeof id !== "string" || typeof name !== "string") throw malformedResponse();
    let block: Block = { kind: "text" };
    if (name === this.#answerTool) {
      this.#isAnswered = true;
    } else {
      block = { kind: "call", call: this.#calls++, hasInput: false };
      this.found({ kind: "call", call: block.call, id, name });
    }
    this.#blocks.set(index, block);
    if (isJsonObject(whole) && Object.keys(whole).length > 0) this.#input(block, jsonText(whole));
  }

  /** A piece of a call's input. That of the tool for JSON is the answer's text. */
  #input(block: Block, text: string): void {
    if (block.kind === "text") this.found({ kind: "text", text });
    if (block.kind !== "call") return;
    block.hasInput = true;
    this.found({ kind: "call-input", call: block.call, text });
  }
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
