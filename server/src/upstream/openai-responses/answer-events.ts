import type { FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { parseExact } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject, objectsIn } from "../../json/json.ts";
import { arrayOf, numberOf, textMembersOf } from "../../json/members.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { citationsIn } from "../citations.ts";
import { logprobsIn } from "../logprobs.ts";
import { readResponsesUsage, readResponsesUsageSoFar } from "../openai/usage.ts";
import { AnswerReader, callIdOf, callInputText, callNameOf, incompleteAnswer } from "../read-answer.ts";
import { malformedResponse } from "../refusal.ts";
import { RESPONSES_SIGNATURE } from "./conversation-body.ts";
import { hasFailed, refusedResponse } from "./failed-response.ts";
import { HeldFailure } from "./held-failure.ts";

/** The statuses of a whole response that contains an answer. Some servers send no status. */
export const ENDED = new Set<Json | undefined>(["completed", "incomplete", undefined]);

const SUMMARY_PIECE = "response.reasoning_summary_text.delta";
const THOUGHT_PIECE = "response.reasoning_text.delta";

/** Numbers from here downward stand for the positions of calls that only the last event has. The stream's own are above. */
const LATE = -1_000_000;

/** Reads a response, item by item. */
export class ResponseReader extends AnswerReader {
  readonly failure = new HeldFailure();
  /** The numbers of calls, by the position of their item. */
  readonly #calls = new Map<number, number>();
  /** The positions of calls, by the ids that the provider gives them. */
  readonly #callPositions = new Map<string, number>();
  /** The positions of items that have had a piece. */
  readonly #begun = new Set<number>();
  /** The positions of items by their ids, for events that have only an id. Below 0: no event has had the position yet, and this number stands for it. */
  readonly #positions = new Map<string, number>();
  /** The kind of event that has brought the pieces of a thought, by the position of its item. */
  readonly #thoughts = new Map<number, string>();
  /** Whether an item was read to its end. */
  #hasEnded = false;
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
    const index = this.#positionOf(event);
    switch (event.type) {
      case "response.output_item.added":
        if (isJsonObject(item) && item.type === "function_call") this.#beginCall(item, index);
        break;
      case "response.output_text.delta":
        this.#text(delta, event.logprobs, index);
        break;
      case "response.output_text.annotation.added":
        this.foundCitations(citationsIn([event.annotation ?? null]));
        break;
      case "response.refusal.delta":
        this.#piece("refusal", delta, index);
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
        const call = this.#calls.get(index);
        const text = callInputText(delta);
        if (call === undefined || text === "") break;
        this.#begun.add(index);
        this.found({ kind: "call-input", call, text });
        break;
      }
      case "response.output_item.done":
        if (isJsonObject(item)) this.#endItem(item, index);
    }
  }

  /** The position of the item that an event is about; -1 if the event has neither a position nor an id. */
  #positionOf({ output_index: position, item_id: itemId, item }: JsonObject): number {
    const id = isJsonObject(item) ? item.id : itemId;
    const sent = numberOf(position);
    if (typeof id !== "string") return sent ?? -1;
    const known = this.#positions.get(id);
    // An item keeps the position under which its first pieces were read.
    if (known !== undefined && (sent === null || known < 0)) return known;
    const found = sent ?? -2 - this.#positions.size;
    this.#positions.set(id, found);
    return found;
  }

  /** Completes an item. What no piece has brought is read from the item itself. */
  #endItem(item: JsonObject, index: number): void {
    this.#hasEnded = true;
    const isWhole = !this.#begun.has(index);
    switch (item.type) {
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
        const call = this.#calls.get(index) ?? this.#beginCall(item, index);
        const input = isWhole ? callInputText(item.arguments) : "";
        this.#begun.add(index);
        if (input !== "") this.found({ kind: "call-input", call, text: input });
        if (item.status !== "incomplete") this.found({ kind: "call-end", call, signature: null });
      }
    }
  }

  /** @param response The whole response. Some servers send its items, or the inputs of its calls, only at the end. */
  #finish({ status, incomplete_details: details, usage, output }: JsonObject): void {
    const isStreamed = this.#begun.size > 0 || this.#calls.size > 0 || this.#hasEnded;
    const items = isStreamed ? [] : arrayOf(output);
    for (const [index, item] of items.entries()) if (isJsonObject(item)) this.#endItem(item, index);
    if (isStreamed) for (const item of objectsIn(output)) this.#endLateCall(item);
    const cause = isJsonObject(details) ? details.reason : null;
    const cutOff: FinishReason = cause === "content_filter" ? "filter" : "length";
    const complete: FinishReason = this.#calls.size > 0 && !this.#hasRefused ? "calls" : "stop";
    this.finish(status === "incomplete" ? cutOff : complete, null, readResponsesUsage(usage));
  }

  /** Reads a call of a streamed response of which no piece has come: a tool must not run without its parameters. */
  #endLateCall(item: JsonObject): void {
    const { type, call_id: id } = item;
    if (type !== "function_call" || typeof id !== "string") return;
    const index = this.#callPositions.get(id) ?? LATE - this.#calls.size;
    if (!this.#begun.has(index)) this.#endItem(item, index);
  }

  #text(text: Json | undefined, logprobs: Json | undefined, index: number): void {
    if (typeof text !== "string" || text === "") return;
    this.#begun.add(index);
    this.foundText(text, logprobsIn(logprobs));
  }

  #piece(kind: "refusal" | "reasoning", text: Json | undefined, index: number): void {
    if (typeof text !== "string" || text === "") return;
    this.#begun.add(index);
    if (kind === "refusal") this.#hasRefused = true;
    this.found({ kind, text });
  }

  /**
   * A piece of a thought, of which some servers send both the whole and a summary. The one that begins counts, because a stream does not wait for the
   * other. A response that is not streamed has both at once, and its summary counts.
   */
  #thought(type: string, text: Json | undefined, index: number): void {
    if ((this.#thoughts.get(index) ?? type) !== type) return;
    this.#piece("reasoning", text, index);
    if (this.#begun.has(index)) this.#thoughts.set(index, type);
  }

  /** The parts of a thought are paragraphs. `type`: that of their pieces. */
  #paragraph(type: string, index: number): void {
    if (this.#thoughts.get(index) === type) this.found({ kind: "reasoning", text: "\n\n" });
  }

  #message({ content }: JsonObject, index: number): void {
    for (const part of arrayOf(content)) {
      if (!isJsonObject(part)) continue;
      this.#text(part.text, part.logprobs, index);
      this.foundCitations(citationsIn(part.annotations));
      this.#piece("refusal", part.refusal, index);
    }
  }

  /** @returns the number of the call. */
  #beginCall({ call_id: id, name }: JsonObject, index: number): number {
    const call = this.#calls.size;
    this.#calls.set(index, call);
    if (typeof id === "string") this.#callPositions.set(id, index);
    this.found({ kind: "call", call, id: callIdOf(id), name: callNameOf(name) });
    return call;
  }
}

function signatureOf({ id, encrypted_content: encrypted }: JsonObject): Signature | null {
  if (typeof encrypted !== "string") return null;
  const fields = { encrypted_content: encrypted, ...(typeof id === "string" ? { id } : {}) };
  return { provider: RESPONSES_SIGNATURE, fields };
}
