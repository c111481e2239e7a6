import type { FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { parseExact } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject, objectsIn } from "../../json/json.ts";
import { arrayOf, textMembersOf } from "../../json/members.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { citationsIn } from "../citations.ts";
import { logprobsIn } from "../logprobs.ts";
import { readResponsesUsage, readResponsesUsageSoFar } from "../openai/usage.ts";
import { AnswerReader, callIdOf, callInputText, callNameOf, incompleteAnswer } from "../read-answer.ts";
import { malformedResponse } from "../refusal.ts";
import { RESPONSES_SIGNATURE } from "./conversation-body.ts";
import { hasFailed, refusedResponse } from "./failed-response.ts";
import { HeldFailure } from "./held-failure.ts";
import { kindOf, type ReceivedItem, ReceivedItems } from "./received-items.ts";

/** The statuses of a whole response that contains an answer. Some servers send no status. */
export const ENDED = new Set<Json | undefined>(["completed", "incomplete", undefined]);

const SUMMARY_PIECE = "response.reasoning_summary_text.delta";
const THOUGHT_PIECE = "response.reasoning_text.delta";

/** Numbers from here downward stand for the positions of calls that only the last event has. The stream's own are above. */
const LATE = -1_000_000;

/** Reads a response, item by item. */
export class ResponseReader extends AnswerReader {
  readonly failure = new HeldFailure();
  readonly #items = new ReceivedItems();
  #calls = 0;
  /** Whether a part of the answer was read before the last event. */
  #isStreamed = false;
  #hasRefused = false;
  #usageSoFar: Usage | null = null;

  override get usageSoFar(): Usage | null {
    return this.#usageSoFar;
  }

  readWhole(text: string): void {
    const response = parseExact(text);
    if (response === null) throw malformedResponse();
    if (hasFailed(response)) throw refusedResponse(response);
    this.#usageSoFar = readResponsesUsageSoFar(response.usage);
    if (!Array.isArray(response.output) || !ENDED.has(response.status)) throw malformedResponse();
    this.#finish(response);
  }

  read(data: string): void {
    if (data === "[DONE]") return;
    const event = parseExact(data);
    if (event === null) throw malformedResponse();
    // A response that has failed may contain its usage, too.
    if (isJsonObject(event.response))
      this.#usageSoFar = readResponsesUsageSoFar(event.response.usage) ?? this.#usageSoFar;
    if (this.failure.take(event)) return;
    if (event.type === "response.completed" || event.type === "response.incomplete") {
      if (!isJsonObject(event.response)) throw malformedResponse();
      this.#finish(event.response);
    } else {
      this.#readEvent(event);
    }
  }

  end(): void {
    this.failure.end();
    throw incompleteAnswer("a final event");
  }

  #readEvent(event: JsonObject): void {
    const { delta, item } = event;
    const index = this.#items.positionOf(event);
    switch (event.type) {
      case "response.output_item.added":
        if (isJsonObject(item)) this.#beginItem(item, index);
        break;
      case "response.output_text.delta":
        this.#text(delta, event.logprobs, index);
        break;
      case "response.output_text.annotation.added":
        this.foundCitations(citationsIn([event.annotation ?? null]));
        break;
      case "response.refusal.delta":
        this.#refusal(delta, index);
        break;
      case "response.reasoning_summary_part.added":
        this.#paragraph(SUMMARY_PIECE, index);
        break;
      case "response.content_part.added":
        this.#paragraph(THOUGHT_PIECE, index);
        break;
      case SUMMARY_PIECE:
      case THOUGHT_PIECE:
        this.#thought(event.type, delta, index);
        break;
      case "response.function_call_arguments.delta": {
        const { call = null } = this.#items.at("function_call", index) ?? {};
        const text = callInputText(delta);
        if (call === null || text === "") break;
        this.#items.withPiece("function_call", index);
        this.found({ kind: "call-input", call, text });
        break;
      }
      case "response.output_item.done":
        if (isJsonObject(item)) this.#endItem(item, index);
    }
  }

  #beginItem(item: JsonObject, index: number): void {
    const kind = kindOf(item);
    if (kind === null) return;
    const received = this.#items.begun(kind, index, item);
    if (kind === "function_call") this.#callOf(received, item);
  }

  /** Completes an item. What no piece has brought is read from the item itself. */
  #endItem(item: JsonObject, index: number): void {
    this.#isStreamed = true;
    const kind = kindOf(item);
    if (kind === null) return;
    const received = this.#items.ended(kind, index, item);
    // Its server repeats the event.
    if (received.hasEnded) return;
    const isWhole = !received.hasPieces;
    switch (kind) {
      case "message":
        if (isWhole) this.#message(item, index);
        break;
      case "reasoning": {
        const text = textMembersOf(item.summary).join("\n\n") || textMembersOf(item.content).join("\n\n");
        if (isWhole && text !== "") this.found({ kind: "reasoning", text });
        this.found({ kind: "reasoning-end", signature: signatureOf(item) });
        break;
      }
      case "function_call": {
        const call = this.#callOf(received, item);
        const input = isWhole ? callInputText(item.arguments) : "";
        if (input !== "") this.found({ kind: "call-input", call, text: input });
        if (item.status !== "incomplete") this.found({ kind: "call-end", call, signature: null });
      }
    }
    received.hasEnded = true;
  }

  /** @param response The whole response. Some servers send its items, or the inputs of its calls, only at the end. */
  #finish({ status, incomplete_details: details, usage, output }: JsonObject): void {
    const isStreamed = this.#isStreamed;
    const items = isStreamed ? [] : arrayOf(output);
    for (const [index, item] of items.entries()) if (isJsonObject(item)) this.#endItem(item, index);
    if (isStreamed) for (const item of objectsIn(output)) this.#endLateCall(item);
    const cause = isJsonObject(details) ? details.reason : null;
    const cutOff: FinishReason = cause === "content_filter" ? "filter" : "length";
    const complete: FinishReason = this.#calls > 0 && !this.#hasRefused ? "calls" : "stop";
    this.finish(status === "incomplete" ? cutOff : complete, null, readResponsesUsage(usage));
  }

  /** Reads a call of a streamed response of which no piece has come: a tool must not run without its parameters. */
  #endLateCall(item: JsonObject): void {
    const { type, call_id: id } = item;
    if (type !== "function_call" || typeof id !== "string") return;
    if (this.#items.call(id)?.hasPieces !== true) this.#endItem(item, LATE - this.#calls);
  }

  #text(text: Json | undefined, logprobs: Json | undefined, index: number): void {
    if (typeof text !== "string" || text === "") return;
    this.#isStreamed = true;
    this.#items.withPiece("message", index);
    this.foundText(text, logprobsIn(logprobs));
  }

  #refusal(text: Json | undefined, index: number): void {
    if (typeof text !== "string" || text === "") return;
    this.#isStreamed = true;
    this.#hasRefused = true;
    this.#items.withPiece("message", index);
    this.found({ kind: "refusal", text });
  }

  /**
   * A piece of a thought, of which some servers send both the whole and a summary. The one that begins counts, because a stream does not wait for the
   * other. A response that is not streamed has both at once, and its summary counts.
   */
  #thought(type: string, text: Json | undefined, index: number): void {
    if (typeof text !== "string" || text === "") return;
    if ((this.#items.at("reasoning", index)?.thought ?? type) !== type) return;
    this.#isStreamed = true;
    this.#items.withPiece("reasoning", index).thought = type;
    this.found({ kind: "reasoning", text });
  }

  /** The parts of a thought are paragraphs. `type`: that of their pieces. */
  #paragraph(type: string, index: number): void {
    const { thought = null } = this.#items.at("reasoning", index) ?? {};
    if (thought === type) this.found({ kind: "reasoning", text: "\n\n" });
  }

  #message({ content }: JsonObject, index: number): void {
    for (const part of arrayOf(content)) {
      if (!isJsonObject(part)) continue;
      this.#text(part.text, part.logprobs, index);
      this.foundCitations(citationsIn(part.annotations));
      this.#refusal(part.refusal, index);
    }
  }

  /** Begins a call that has not begun. @returns its number. */
  #callOf(received: ReceivedItem, { call_id: id, name }: JsonObject): number {
    if (received.call !== null) return received.call;
    const call = this.#calls++;
    received.call = call;
    this.#isStreamed = true;
    this.found({ kind: "call", call, id: callIdOf(id), name: callNameOf(name) });
    return call;
  }
}

function signatureOf({ id, encrypted_content: encrypted }: JsonObject): Signature | null {
  if (typeof encrypted !== "string") return null;
  const fields = { encrypted_content: encrypted, ...(typeof id === "string" ? { id } : {}) };
  return { provider: RESPONSES_SIGNATURE, fields };
}
