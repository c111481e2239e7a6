import type { Filtered, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { OVERLOADED_STATUS } from "../../errors/messages-error.ts";
import { parseExact } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { objectOf } from "../../json/members.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import type { UpstreamRefused } from "../dialect.ts";
import { AnswerReader, callInputText, callNameOf, incompleteAnswer } from "../read-answer.ts";
import { malformedResponse, refusalOf } from "../refusal.ts";
import { MessageUsage } from "./usage.ts";

const STATUSES: ReadonlyMap<Json | undefined, number> = new Map([
  ["invalid_request_error", 400],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["timeout_error", 504],
  ["overloaded_error", OVERLOADED_STATUS],
]);

/** An error that the upstream reports in its stream. */
export function refusedIn({ error }: JsonObject, data: string): UpstreamRefused {
  return refusalOf((isJsonObject(error) ? STATUSES.get(error.type) : undefined) ?? 500, data);
}

/** A block of the answer while it is received. */
type Block =
  | { readonly kind: "text" }
  | { readonly kind: "thinking"; signature: string }
  /** A call. `call`: its number; `null` for that of the tool whose input is the answer's text. */
  | { readonly kind: "call"; readonly call: number | null; hasInput: boolean };

/** Reads a message block by block. Blocks of tools that the provider runs itself are left out. */
export class MessageReader extends AnswerReader {
  /** Blocks that have not ended. `null`: one that is left out. */
  readonly #blocks = new Map<Json | undefined, Block | null>();
  readonly #usage = new MessageUsage();
  #calls = 0;
  #stopReason: string | null = null;
  #stopSequence: string | null = null;
  #filtered: Filtered | null = null;

  override get usageSoFar(): Usage | null {
    return this.#usage.soFar;
  }

  readWhole(text: string): void {
    const message = parseExact(text);
    if (message?.type === "error") throw refusedIn(message, text);
    if (message === null) throw malformedResponse();
    this.#note(message, message.usage);
    if (!Array.isArray(message.content)) throw malformedResponse();
    for (const [index, block] of message.content.entries()) {
      this.#start(index, block);
      this.#stop(index);
    }
    this.#finish();
  }

  read(data: string): void {
    const event = parseExact(data);
    if (event === null || typeof event.type !== "string") throw malformedResponse();
    switch (event.type) {
      case "error":
        throw refusedIn(event, data);
      case "message_start":
        // Its usage is not that of the answer.
        if (isJsonObject(event.message)) this.#usage.begin(event.message.usage);
        break;
      case "content_block_start":
        this.#start(event.index, event.content_block);
        break;
      case "content_block_delta":
        this.#readDelta(event.index, event.delta);
        break;
      case "content_block_stop":
        this.#stop(event.index);
        break;
      case "message_delta":
        this.#note(objectOf(event.delta), event.usage);
        break;
      case "message_stop":
        this.#finish();
    }
  }

  end(): void {
    throw incompleteAnswer("message_stop");
  }

  /** Notes why the answer has ended, and its usage. */
  #note(told: JsonObject, usage: Json | undefined): void {
    const { stop_reason: reason, stop_sequence: sequence, stop_details: details } = told;
    this.#usage.end(usage);
    if (isJsonObject(details)) this.#filtered = filteredIn(details);
    if (typeof reason === "string") this.#stopReason = reason;
    if (typeof sequence === "string") this.#stopSequence = sequence;
  }

  #start(index: Json | undefined, block: Json | undefined): void {
    if (!isJsonObject(block)) throw malformedResponse();
    this.#endFormer(index);
    this.countItem();
    switch (block.type) {
      case "text":
        this.#blocks.set(index, { kind: "text" });
        this.foundText(textOf(block.text));
        break;
      case "thinking":
        this.#blocks.set(index, { kind: "thinking", signature: textOf(block.signature) });
        this.#thought(block.thinking);
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

  /** Ends the block whose index another one has. The input of a call must not become that of another one. */
  #endFormer(index: Json | undefined): void {
    const former = this.#blocks.get(index);
    if (former?.kind === "call" && !former.hasInput) throw malformedResponse();
    this.#stop(index);
  }

  #readDelta(index: Json | undefined, delta: Json | undefined): void {
    const block = this.#blocks.get(index);
    if (block === undefined || !isJsonObject(delta)) throw malformedResponse();
    if (block === null) return;
    if (delta.type === "text_delta") {
      this.foundText(textOf(delta.text));
    } else if (delta.type === "thinking_delta") {
      this.#thought(delta.thinking);
    } else if (delta.type === "signature_delta" && block.kind === "thinking") {
      block.signature += textOf(delta.signature);
    } else if (delta.type === "input_json_delta") {
      this.#input(block, callInputText(delta.partial_json));
    }
  }

  #stop(index: Json | undefined): void {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.kind === "thinking") {
      this.found({ kind: "reasoning-end", signature: signatureOf("signature", block.signature) });
    } else if (block?.kind === "call") {
      // A call without parameters has no piece of input.
      if (!block.hasInput) this.#input(block, "{}");
      if (block.call !== null) this.found({ kind: "call-end", call: block.call, signature: null });
    }
  }

  #finish(): void {
    if (this.#stopReason === null) throw incompleteAnswer("a reason");
    for (const index of [...this.#blocks.keys()]) this.#stop(index);
    const reason = finishOf(this.#stopReason, this.#calls > 0);
    this.finish(reason, this.#stopSequence, this.#usage.whole, this.#filtered);
  }

  #thought(value: Json | undefined): void {
    const text = textOf(value);
    if (text !== "") this.found({ kind: "reasoning", text });
  }

  #startCall(index: Json | undefined, { id, name: called, input: whole }: JsonObject): void {
    if (typeof id !== "string") throw malformedResponse();
    const name = callNameOf(called);
    const call = name === this.answerTool ? null : this.#calls++;
    const block: Block = { kind: "call", call, hasInput: false };
    if (call === null) this.isAnswered = true;
    else this.found({ kind: "call", call, id, name });
    this.#blocks.set(index, block);
    const input = callInputText(whole);
    // A stream begins with an empty object, which its pieces replace.
    if (input !== "{}") this.#input(block, input);
  }

  /** A piece of a call's input. */
  #input(block: Block, text: string): void {
    if (text === "" || block.kind !== "call") return;
    block.hasInput = true;
    const { call } = block;
    this.found(call === null ? { kind: "text", text } : { kind: "call-input", call, text });
  }
}

function signatureOf(name: string, value: string): Signature | null {
  return value === "" ? null : { provider: "anthropic", fields: { [name]: value } };
}

function finishOf(reason: string, hasCalls: boolean): FinishReason {
  if (reason === "max_tokens" || reason === "model_context_window_exceeded") return "length";
  if (reason === "refusal") return "filter";
  return reason === "tool_use" && hasCalls ? "calls" : "stop";
}

function filteredIn({ category, explanation }: JsonObject): Filtered {
  return { category: textOf(category) || null, explanation: textOf(explanation) || null };
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
