import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import { CallIds, messagesCallId } from "../../conversation/call-ids.ts";
import { MESSAGES_CONTROL_EVENTS } from "../../conversation/control-events.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { type SignatureSealer, UNSEEN_TEXT } from "../../conversation/sealed-signature.ts";
import type { AnswerHead, AnswerWriter } from "../../conversation/wire.ts";
import { exactJson } from "../../json/exact-numbers.ts";
import type { Json, JsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { type Block, Blocks, eventOf } from "./blocks.ts";
import type { ToolNames } from "./tool-names.ts";

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  calls: "tool_use",
  filter: "refusal",
};

/** What the client asked to see of thoughts: their text, only that there were some, or nothing. */
export type ShownThoughts = "shown" | "omitted" | "hidden";

interface MessagesWriterOptions {
  /** The usage that a stream begins with: an estimate of the prompt's tokens. */
  readonly estimate: Usage;
  readonly thoughts: ShownThoughts;
  readonly signatures: SignatureSealer;
  readonly names: ToolNames;
}

/** Why an answer has ended. `container`: no answer of another provider has one. */
type Stop = {
  readonly stop_reason: Json;
  readonly stop_sequence: Json;
  readonly stop_details: JsonObject | null;
  readonly container: null;
};

interface Call {
  readonly block: Block;
  readonly id: string;
  isSigned: boolean;
}

/** Writes an answer as a message of the Messages API, or as its events. */
export class MessagesWriter implements AnswerWriter {
  readonly heartbeat = MESSAGES_CONTROL_EVENTS.heartbeat;
  readonly failure = MESSAGES_CONTROL_EVENTS.failure;
  readonly #head: JsonObject;
  readonly #options: MessagesWriterOptions;
  readonly #blocks = new Blocks();
  readonly #calls: Call[] = [];
  readonly #callIds = new CallIds(messagesCallId);
  /** The block of text or thoughts that is being written. */
  #current: Block | null = null;
  /** The text of the thought that is being received, if the client does not see it and the provider may want it back. */
  #unseen = "";
  /** The signatures of hidden thoughts, which are carried if a call follows. */
  #neededByCalls: Signature[] = [];
  #hasRefused = false;
  #stop: Stop = { stop_reason: null, stop_sequence: null, stop_details: null, container: null };
  #isDeltaWritten = false;
  /** Whether the answer was cut off, so that the input of its last call may be incomplete. */
  #isCut = false;

  constructor({ id, model }: AnswerHead, options: MessagesWriterOptions) {
    this.#head = { id: `msg_${id}`, type: "message", role: "assistant", model };
    this.#options = options;
  }

  begin(): string {
    const usage = usageOf(this.#options.estimate);
    const message = { ...this.#head, content: [], ...this.#stop, diagnostics: null, usage };
    return eventOf("message_start", { message });
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case "text":
        return this.#said("text", event.text);
      case "refusal":
        this.#hasRefused = true;
        return this.#said("text", event.text);
      case "image":
        return this.#withoutImage(event.mediaType);
      // The Messages API has only citations of what Anthropic has found, with its encrypted data.
      case "citation":
        return "";
      case "reasoning":
        if (event.isNeededByCalls === true && this.#options.thoughts !== "shown") this.#unseen += event.text;
        return this.#options.thoughts === "hidden" ? "" : this.#said("thinking", event.text);
      case "reasoning-end":
        return this.#endThought(event);
      case "call":
        return this.#beginCall(event);
      case "call-input": {
        const call = this.#calls[event.call];
        return call === undefined ? "" : this.#blocks.add(call.block, "partial_json", event.text);
      }
      case "call-end":
        return this.#endCall(event.call, event.signature);
      case "finish":
        return this.#finish(event);
    }
  }

  /** Changes nothing, because it is asked for again where the answer is kept for an idempotency key. */
  last(usage: Usage): string {
    return (this.#isDeltaWritten ? "" : this.#delta(usage)) + eventOf("message_stop", {});
  }

  whole(usage: Usage): string {
    const content = this.#blocks.content(this.#isCut);
    const message = { ...this.#head, content, ...this.#stop, diagnostics: null, usage: usageOf(usage) };
    return exactJson(JSON.stringify(message));
  }

  #said(kind: "text" | "thinking", text: string): string {
    if (text === "") return "";
    const current = this.#current;
    if (current?.content.type === kind) return this.#add(current, kind, text);
    const ended = this.#endSaid();
    const content = kind === "text" ? { type: kind, text: "" } : { type: kind, thinking: "", signature: "" };
    const { block, events } = this.#blocks.begin(content);
    this.#current = block;
    return ended + events + this.#add(block, kind, text);
  }

  /** A text in the place of an image, which is charged for, and which answers of the Messages API cannot contain. */
  #withoutImage(mediaType: string): string {
    const ended = this.#endSaid();
    const text = `[The model has produced an image (${mediaType}), which the Messages API cannot contain. Chat completions and the Responses API can.]`;
    return ended + this.#said("text", text) + this.#endSaid();
  }

  #add(block: Block, kind: "text" | "thinking", text: string): string {
    const isShown = kind === "text" || this.#options.thoughts === "shown";
    return isShown ? this.#blocks.add(block, kind, text) : "";
  }

  /** Ends the block of text or thoughts, if there is one. */
  #endSaid(): string {
    const current = this.#current;
    this.#current = null;
    return current === null ? "" : this.#blocks.end(current);
  }

  #endThought(event: Extract<AnswerEvent, { kind: "reasoning-end" }>): string {
    const current = this.#current;
    const signature = event.signature === null ? null : withText(event.signature, this.#unseen);
    this.#unseen = "";
    if (this.#options.thoughts === "hidden") {
      if (signature !== null && event.isNeededByCalls === true) this.#neededByCalls.push(signature);
      return "";
    }
    if (current?.content.type !== "thinking") return signature === null ? "" : this.#carry(signature, null);
    const signed = signature === null ? "" : this.#blocks.sign(current, this.#sealed(signature, null));
    return signed + this.#endSaid();
  }

  #beginCall({ call, id, name, signature }: Extract<AnswerEvent, { kind: "call" }>): string {
    // Results name their call by its id.
    const ownId = this.#callIds.next(id);
    let ended = this.#endSaid();
    for (const needed of this.#neededByCalls.splice(0)) ended += this.#carry(needed, null);
    const isSigned = signature !== undefined && signature !== null;
    const carried = isSigned ? this.#carry(signature, ownId) : "";
    const { block, events } = this.#blocks.begin({
      type: "tool_use",
      id: ownId,
      name: this.#options.names.ownOf(name),
      input: {},
    });
    this.#calls[call] = { block, id: ownId, isSigned };
    return ended + carried + events;
  }

  #endCall(number: number, signature: Signature | null): string {
    const call = this.#calls[number];
    if (call === undefined) return "";
    const ended = this.#blocks.end(call.block);
    if (signature === null || call.isSigned) return ended;
    call.isSigned = true;
    return ended + this.#carry(signature, call.id);
  }

  /** A block for a signature whose own block has no place for it. */
  #carry(signature: Signature, callId: string | null): string {
    const ended = this.#endSaid();
    const data = this.#sealed(signature, callId);
    const { block, events } = this.#blocks.begin({ type: "redacted_thinking", data });
    return ended + events + this.#blocks.end(block);
  }

  #sealed(signature: Signature, callId: string | null): string {
    return this.#options.signatures.seal({ signature, callId });
  }

  #finish({ reason, stopSequence, usage, filtered }: Extract<AnswerEvent, { kind: "finish" }>): string {
    const stopReason = this.#hasRefused && reason === "stop" ? "refusal" : STOP_REASONS[reason];
    const { category = null, explanation = null } = filtered ?? {};
    const details = stopReason === "refusal" ? { type: "refusal", category, explanation } : null;
    this.#stop =
      stopSequence === null
        ? { ...this.#stop, stop_reason: stopReason, stop_details: details }
        : { ...this.#stop, stop_reason: "stop_sequence", stop_sequence: stopSequence };
    this.#isCut = reason !== "calls" && reason !== "stop";
    this.#current = null;
    const ended = this.#blocks.endAll();
    // Where the upstream reports no usage, it is counted before the last event is written.
    this.#isDeltaWritten = usage !== null;
    return usage === null ? ended : ended + this.#delta(usage);
  }

  #delta(usage: Usage): string {
    return eventOf("message_delta", { delta: this.#stop, usage: usageOf(usage) });
  }
}

/** The signature of a thought together with the text that the client does not see. */
function withText(signature: Signature, text: string): Signature {
  return text === "" ? signature : { ...signature, fields: { ...signature.fields, [UNSEEN_TEXT]: text } };
}

/** The `usage` of the Messages API. Its `input_tokens` are neither read from the cache nor written to it. */
function usageOf(usage: Usage): JsonObject {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usage;
  const for5m = usage.cacheWriteTokens ?? 0;
  const for1h = usage.cacheWrite1hTokens ?? 0;
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens - for5m - for1h),
    cache_creation_input_tokens: for5m + for1h,
    cache_read_input_tokens: cachedTokens,
    cache_creation: { ephemeral_5m_input_tokens: for5m, ephemeral_1h_input_tokens: for1h },
    output_tokens: completionTokens,
    output_tokens_details: reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
    service_tier: null,
    inference_geo: null,
    speed: null,
  };
}
