import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { AnswerReader, eventsRead } from "../answer-reader.ts";
import { malformedResponse } from "../refusal.ts";
import { TransportError } from "../transport.ts";
import { RESPONSES_SIGNATURE } from "./conversation-body.ts";
import { refusedResponse } from "./failed-response.ts";
import { readResponsesUsage } from "./usage.ts";

/** The states of a whole response that has ended with an answer. Some servers tell none. */
export const ENDED = new Set<Json | undefined>(["completed", "incomplete", undefined]);

/** The events of a whole response. @throws {UpstreamRefused} for a failed or malformed one. */
export function eventsOfResponse(text: string): readonly AnswerEvent[] {
  const response = parseJsonObject(text);
  if (response === null) throw malformedResponse();
  if (response.status === "failed" || isJsonObject(response.error)) throw refusedResponse(response);
  if (!Array.isArray(response.output) || !ENDED.has(response.status)) throw malformedResponse();
  const reader = new ResponseReader();
  reader.finish(response);
  return reader.takeEvents();
}

/** The events of a stream, those of a piece together. */
export async function* eventsOfStream(
  data: AsyncIterable<readonly string[]>,
): AsyncGenerator<readonly AnswerEvent[]> {
  const reader = new ResponseReader();
  yield* eventsRead(data, reader);
  if (!reader.isOver) throw new TransportError("cut", "the upstream's stream ended without a final event");
}

/** Reads a response, item by item. */
class ResponseReader extends AnswerReader {
  /** The numbers of calls, by the position of their item. */
  readonly #calls = new Map<number, number>();
  /** The positions of items of which pieces were read. */
  readonly #begun = new Set<number>();
  /** Whether an item was read to its end. */
  #hasEnded = false;
  #hasRefused = false;

  read(text: string): void {
    if (text === "[DONE]") return;
    const event = parseJsonObject(text);
    if (event === null) throw malformedResponse();
    if (event.type === "response.completed" || event.type === "response.incomplete") {
      if (!isJsonObject(event.response)) throw malformedResponse();
      this.finish(event.response);
    } else if (event.type === "response.failed" || event.type === "error" || isJsonObject(event.error)) {
      throw refusedResponse(event);
    } else {
      this.#readEvent(event);
    }
  }

  #readEvent(event: JsonObject): void {
    const { delta, item, output_index: position } = event;
    const index = typeof position === "number" ? position : -1;
    switch (event.type) {
      case "response.output_item.added":
        if (isJsonObject(item) && item.type === "function_call") this.#beginCall(item, index);
        break;
      case "response.output_text.delta":
        this.#piece("text", delta, index);
        break;
      case "response.refusal.delta":
        this.#piece("refusal", delta, index);
        break;
      case "response.reasoning_summary_part.added":
        // The parts of a summary are paragraphs.
        if (this.#begun.has(index)) this.found({ kind: "reasoning", text: "\n\n" });
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#piece("reasoning", delta, index);
        break;
      case "response.function_call_arguments.delta": {
        const call = this.#calls.get(index);
        if (call === undefined || typeof delta !== "string" || delta === "") break;
        this.#begun.add(index);
        this.found({ kind: "call-input", call, text: delta });
        break;
      }
      case "response.output_item.done":
        if (isJsonObject(item)) this.endItem(item, index);
    }
  }

  /** Completes an item. What no piece has brought is read from the item itself. */
  endItem(item: JsonObject, index: number): void {
    this.#hasEnded = true;
    const isWhole = !this.#begun.has(index);
    if (item.type === "message" && isWhole) this.#message(item, index);
    if (item.type === "reasoning") {
      const text = textsOf(item.summary) || textsOf(item.content);
      if (isWhole && text !== "") this.found({ kind: "reasoning", text });
      this.found({ kind: "reasoning-end", signature: signatureOf(item) });
    }
    if (item.type !== "function_call") return;
    if (!this.#calls.has(index)) this.#beginCall(item, index);
    const call = this.#calls.get(index) ?? 0;
    const { arguments: input } = item;
    if (isWhole && typeof input === "string" && input !== "")
      this.found({ kind: "call-input", call, text: input });
    this.found({ kind: "call-end", call, signature: null });
  }

  /** @param response The whole response, of which some servers send the items only at the end. */
  finish({ status, incomplete_details: details, usage, output }: JsonObject): void {
    const isStreamed = this.#begun.size > 0 || this.#calls.size > 0 || this.#hasEnded;
    const items = !isStreamed && Array.isArray(output) ? output : [];
    for (const [index, item] of items.entries()) if (isJsonObject(item)) this.endItem(item, index);
    const reason = isJsonObject(details) ? details.reason : null;
    this.found({
      kind: "finish",
      reason: status === "incomplete" ? incompleteReason(reason) : this.#reason(),
      stopSequence: null,
      usage: readResponsesUsage(usage),
    });
  }

  #reason(): FinishReason {
    return this.#calls.size > 0 && !this.#hasRefused ? "calls" : "stop";
  }

  #piece(kind: "text" | "refusal" | "reasoning", text: Json | undefined, index: number): void {
    if (typeof text !== "string" || text === "") return;
    this.#begun.add(index);
    if (kind === "refusal") this.#hasRefused = true;
    this.found({ kind, text });
  }

  #message({ content }: JsonObject, index: number): void {
    for (const part of Array.isArray(content) ? content : []) {
      if (!isJsonObject(part)) continue;
      this.#piece("text", part.text, index);
      this.#piece("refusal", part.refusal, index);
    }
  }

  #beginCall({ call_id: id, name }: JsonObject, index: number): void {
    const call = this.#calls.size;
    this.#calls.set(index, call);
    this.found({
      kind: "call",
      call,
      id: typeof id === "string" && id !== "" ? id : `call_${crypto.randomUUID().replaceAll("-", "")}`,
      name: typeof name === "string" ? name : "",
    });
  }
}

function incompleteReason(reason: Json | undefined): FinishReason {
  return reason === "content_filter" ? "filter" : "length";
}

/** The texts of a summary or a thought. */
function textsOf(parts: Json | undefined): string {
  if (!Array.isArray(parts)) return "";
  return parts
    .flatMap((part: Json) => (isJsonObject(part) && typeof part.text === "string" ? [part.text] : []))
    .join("\n\n");
}

function signatureOf({ id, encrypted_content: encrypted }: JsonObject): Signature | null {
  if (typeof encrypted !== "string") return null;
  const fields = { encrypted_content: encrypted, ...(typeof id === "string" ? { id } : {}) };
  return { provider: RESPONSES_SIGNATURE, fields };
}
