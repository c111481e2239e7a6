import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import {
  EARLY_RESPONSE_SIGNS,
  keepaliveEvent,
  responseErrorOf,
  responseEventText,
  responseUsageOf,
} from "../../conversation/response-format.ts";
import type { AnswerHead, AnswerWriter } from "../../conversation/wire.ts";
import type { Failure } from "../../errors/failure.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import type { ClientTools } from "./client-tools.ts";
import {
  type CallItem,
  callItem,
  type ItemPlace,
  type ItemStatus,
  MessageItem,
  newId,
  type OutputItem,
  ReasoningItem,
} from "./output-items.ts";

export interface ResponsesWriterParts {
  readonly head: AnswerHead;
  readonly tools: ClientTools;
  /** The members that repeat the request. */
  readonly repeated: JsonObject;
  /** `store`, `previous_response_id`, and the id of a response that is to be stored. */
  readonly owned: JsonObject;
  /** Whether the client gets events, or only the whole response. */
  readonly isStreamed: boolean;
  /** Whether the client asked for encrypted reasoning. */
  readonly showsEncrypted: boolean;
  /** Whether anybody gets what is sealed: the client, or the service itself with a stored response. */
  readonly isSealing: boolean;
  /** Seals what a provider wants back. `callId`: with which call; `null`: with the thought. */
  readonly seal: (signature: Signature, callId: string | null) => string;
}

type Ending = "completed" | "incomplete" | "failed";

const INCOMPLETE: Readonly<Partial<Record<FinishReason, string>>> = {
  length: "max_output_tokens",
  filter: "content_filter",
};

/**
 * Writes an answer as a response, or as its events. Items have the order in which they begin. A message ends when something else
 * begins; calls end one by one, because their pieces may come by turns.
 */
export class ResponsesWriter implements AnswerWriter {
  readonly needsUsage = true;
  readonly #parts: ResponsesWriterParts;
  /** The members that repeat the request as JSON, which three events have. */
  readonly #repeatedText: string;
  readonly #items: OutputItem[] = [];
  readonly #calls = new Map<number, CallItem>();
  readonly #callIds = new Set<string>();
  #message: MessageItem | null = null;
  #reasoning: ReasoningItem | null = null;
  #sequence = 0;
  #reason: FinishReason = "stop";

  constructor(parts: ResponsesWriterParts) {
    this.#parts = parts;
    this.#repeatedText = JSON.stringify(parts.repeated).slice(1, -1);
  }

  begin(): string {
    return (
      this.#lifecycle("response.created", this.#state("in_progress"), this.#sequence++) +
      this.#lifecycle("response.in_progress", this.#state("in_progress"), this.#sequence++)
    );
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case "text":
      case "refusal":
        return this.#writeMessage(event.kind, event.text);
      case "reasoning":
        return this.#openReasoning() + (this.#reasoning?.add(event.text) ?? "");
      case "reasoning-end":
        return this.#endReasoning(event.signature);
      case "call":
        return this.#beginCall(event.call, event.id, event.name);
      case "call-input":
        return this.#calls.get(event.call)?.add(event.text) ?? "";
      case "call-end":
        return this.#endCall(event.call, event.signature);
      case "finish":
        this.#reason = event.reason;
        return this.#closeAll(event.reason in INCOMPLETE ? "incomplete" : "completed");
    }
  }

  /** Takes no number, because it may be asked for again, or a failure may take its place. */
  last(usage: Usage, changes: JsonObject): string {
    const state = { ...this.#ended(usage), ...changes };
    return this.#lifecycle(`response.${this.#ending}`, state, this.#sequence);
  }

  whole(usage: Usage | null): string {
    return this.#text(this.#ended(usage));
  }

  stored(usage: Usage): string {
    return this.#text({ ...this.#ended(usage), output: this.#output(true) });
  }

  heartbeat(): string {
    return this.#sequence === 0 ? EARLY_RESPONSE_SIGNS.heartbeat() : keepaliveEvent(this.#sequence++);
  }

  failure(failure: Failure): string {
    if (this.#sequence === 0) return EARLY_RESPONSE_SIGNS.failure(failure);
    // A response that has failed is not stored.
    const state = { ...this.#state("failed"), error: responseErrorOf(failure), store: false };
    return this.#lifecycle("response.failed", state, this.#sequence);
  }

  get #ending(): Ending {
    return this.#reason in INCOMPLETE ? "incomplete" : "completed";
  }

  #writeMessage(kind: "text" | "refusal", text: string): string {
    if (text === "") return "";
    const closed = this.#closeReasoning();
    if (this.#message !== null) return closed + this.#message.add(kind, text);
    const message = this.#add((place) => new MessageItem(place));
    this.#message = message;
    return closed + message.open() + message.add(kind, text);
  }

  #openReasoning(): string {
    if (this.#reasoning !== null) return "";
    const closed = this.#closeMessage();
    this.#reasoning = this.#add((place) => new ReasoningItem(place, this.#parts.showsEncrypted));
    return closed + this.#reasoning.open();
  }

  #endReasoning(signature: Signature | null): string {
    const encrypted = this.#sealed(signature, null);
    // A thought that the provider does not show, and that nobody sends back, is none.
    if (this.#reasoning === null && encrypted === null) return "";
    const opened = this.#openReasoning();
    const ended = this.#reasoning?.end(encrypted) ?? "";
    this.#reasoning = null;
    return opened + ended;
  }

  #beginCall(call: number, id: string, name: string): string {
    const closed = this.#closeReasoning() + this.#closeMessage();
    // Clients match results to calls by their ids, and some upstreams give each call the same one.
    const callId = id === "" || this.#callIds.has(id) ? newId("call") : id;
    this.#callIds.add(callId);
    const tool = this.#parts.tools.toolOf(name);
    const item = this.#add((place) => callItem(place, tool, callId));
    this.#calls.set(call, item);
    return closed + item.open();
  }

  #endCall(call: number, signature: Signature | null): string {
    const item = this.#calls.get(call);
    if (item === undefined) return "";
    this.#calls.delete(call);
    const closed = item.close("completed");
    const encrypted = this.#sealed(signature, item.callId);
    if (encrypted === null) return closed;
    // A call has no place for what its provider wants back. A thought without text carries it.
    const carrier = this.#add((place) => new ReasoningItem(place, this.#parts.showsEncrypted));
    return closed + carrier.open() + carrier.end(encrypted);
  }

  #sealed(signature: Signature | null, callId: string | null): string | null {
    const { isSealing, seal } = this.#parts;
    return signature === null || !isSealing ? null : seal(signature, callId);
  }

  #closeMessage(status: ItemStatus = "completed"): string {
    const closed = this.#message?.close(status) ?? "";
    this.#message = null;
    return closed;
  }

  #closeReasoning(): string {
    const closed = this.#reasoning?.close("completed") ?? "";
    this.#reasoning = null;
    return closed;
  }

  #closeAll(status: ItemStatus): string {
    let closed = this.#closeReasoning() + this.#closeMessage(status);
    for (const call of this.#calls.values()) closed += call.close(status);
    this.#calls.clear();
    return closed;
  }

  #add<Item extends OutputItem>(open: (place: ItemPlace) => Item): Item {
    const item = open({ index: this.#items.length, emit: (type, fields) => this.#emit(type, fields) });
    this.#items.push(item);
    return item;
  }

  #output(withEncrypted: boolean): readonly JsonObject[] {
    return this.#items.map((item) => item.value(withEncrypted));
  }

  #ended(usage: Usage | null): JsonObject {
    const reason = INCOMPLETE[this.#reason];
    const incomplete = reason === undefined ? null : { reason };
    return this.#state(this.#ending, incomplete, usage === null ? null : responseUsageOf(usage));
  }

  /** The members of the response that do not repeat the request. */
  #state(
    status: "in_progress" | Ending,
    incomplete: JsonObject | null = null,
    usage: JsonObject | null = null,
  ): JsonObject {
    const { head, owned, showsEncrypted } = this.#parts;
    return {
      id: `resp_${head.id}`,
      object: "response",
      created_at: head.created,
      status,
      error: null,
      incomplete_details: incomplete,
      model: head.model,
      output: status === "in_progress" ? [] : this.#output(showsEncrypted),
      usage,
      ...owned,
    };
  }

  /** The response as JSON. The members that repeat the request are written once, as they can be many. */
  #text(state: JsonObject): string {
    return `${JSON.stringify(state).slice(0, -1)},${this.#repeatedText}}`;
  }

  #lifecycle(type: string, state: JsonObject, number: number): string {
    const head = JSON.stringify({ type, sequence_number: number }).slice(0, -1);
    return responseEventText(type, `${head},"response":${this.#text(state)}}`);
  }

  #emit(type: string, fields: JsonObject): string {
    if (!this.#parts.isStreamed) return "";
    // Joined as text: to copy the fields into another object takes as long as to write them.
    const head = `{"type":"${type}","sequence_number":${this.#sequence++}`;
    return responseEventText(type, `${head},${JSON.stringify(fields).slice(1)}`);
  }
}
