import type { AnswerEvent, FinishReason, TokenLogprob } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import {
  asksForEncrypted,
  EARLY_RESPONSE_CONTROL_EVENTS,
  failedResponseEvents,
  keepaliveEvent,
  responseErrorOf,
  responseEventText,
  responseUsageOf,
} from "../../conversation/response-format.ts";
import type { SignatureSealer } from "../../conversation/sealed-signature.ts";
import type { AnswerHead, AnswerWriter } from "../../conversation/wire.ts";
import type { Failure } from "../../errors/failure.ts";
import { CallInputs } from "../../json/call-inputs.ts";
import { exactJson } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { arrayOf, objectOf } from "../../json/members.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import type { ClientTools } from "./client-tools.ts";
import {
  type CallItem,
  callItem,
  ImageItem,
  type ItemPlace,
  type ItemStatus,
  MessageItem,
  newId,
  type OutputItem,
  ReasoningItem,
} from "./output-items.ts";

interface ResponsesWriterParts {
  readonly head: AnswerHead;
  readonly tools: ClientTools;
  /** The request. */
  readonly body: JsonBody;
  /** `store`, `previous_response_id`, and the id of a response that is to be stored. */
  readonly owned: JsonObject;
  /** Whether the client gets events, or only the whole response. */
  readonly isStreamed: boolean;
  readonly signatures: SignatureSealer;
}

const NO_LOGPROBS: readonly TokenLogprob[] = [];

const INCOMPLETE: Readonly<Partial<Record<FinishReason, string>>> = {
  length: "max_output_tokens",
  filter: "content_filter",
};

/**
 * Writes an answer as a response, or as its events. Items have the order in which they begin. A message ends when something else
 * begins, and so does a call whose input is whole: OpenAI ends an item before the next one, and Agno keeps only one call at a time. Other
 * calls end one by one, because their pieces may come by turns.
 */
export class ResponsesWriter implements AnswerWriter {
  /** Without the request, whose text would be in memory for as long as the answer is written. */
  readonly #parts: Omit<ResponsesWriterParts, "body">;
  /** The members that repeat the request as JSON, which three events have. */
  readonly #repeatedText: string;
  /** Whether the client asked for encrypted reasoning. */
  readonly #showsEncrypted: boolean;
  readonly #items: OutputItem[] = [];
  readonly #calls = new Map<number, CallItem>();
  readonly #callIds = new Set<string>();
  readonly #inputs = new CallInputs();
  /** The call that began last, until something else begins. */
  #lastCall: CallItem | null = null;
  /** The message or thought that is being written. */
  #said: MessageItem | ReasoningItem | null = null;
  #sequence = 0;
  #reason: FinishReason = "stop";
  /** Unix seconds; `null`: it is not complete. */
  #completedAt: number | null = null;

  constructor({ body, ...parts }: ResponsesWriterParts) {
    this.#parts = parts;
    this.#repeatedText = exactJson(JSON.stringify(repeatedFields(body))).slice(1, -1);
    this.#showsEncrypted = asksForEncrypted(body.value.include);
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
        return this.#writeMessage("text", event.text, event.logprobs);
      case "refusal":
        return this.#writeMessage("refusal", event.text);
      case "reasoning":
        return this.#writeReasoning(event.text);
      case "reasoning-end":
        return this.#endReasoning(event.signature);
      case "image":
        return this.#writeImage(event.mediaType, event.data);
      case "citation":
        return this.#said instanceof MessageItem ? this.#said.cite(event) : "";
      case "call":
        return this.#beginCall(event.call, event.id, event.name);
      case "call-input":
        return this.#calls.get(event.call)?.add(event.text) ?? "";
      case "call-end":
        return this.#endCall(event.call, event.signature);
      case "finish":
        this.#reason = event.reason;
        this.#completedAt = this.#ending === "completed" ? this.#parts.head.now() : null;
        // What the provider says about a filtered answer. OpenAI's models say such things as a refusal.
        return (
          this.#writeMessage("refusal", event.filtered?.explanation ?? "") + this.#closeAll(this.#ending)
        );
    }
  }

  /** Completes the stream. It takes no new sequence number, because it may be called again, or a failure may be written in its place. */
  last(usage: Usage, changes: JsonObject): string {
    const state = { ...this.#ended(usage), ...changes };
    return this.#lifecycle(`response.${this.#ending}`, state, this.#sequence);
  }

  whole(usage: Usage): string {
    return this.#text(this.#ended(usage));
  }

  stored(usage: Usage): string {
    return this.#text({ ...this.#ended(usage), output: this.#output(true) });
  }

  heartbeat(): string {
    return this.#sequence === 0
      ? EARLY_RESPONSE_CONTROL_EVENTS.heartbeat()
      : keepaliveEvent(this.#sequence++);
  }

  failure(failure: Failure): string {
    if (this.#sequence === 0) return EARLY_RESPONSE_CONTROL_EVENTS.failure(failure);
    // A response that has failed is not stored.
    const state = { ...this.#state("failed"), error: responseErrorOf(failure), store: false };
    return failedResponseEvents(failure, this.#sequence, this.#text(state));
  }

  get #ending(): "completed" | "incomplete" {
    return this.#reason in INCOMPLETE ? "incomplete" : "completed";
  }

  #writeMessage(kind: "text" | "refusal", text: string, logprobs = NO_LOGPROBS): string {
    if (text === "") return "";
    if (this.#said instanceof MessageItem) return this.#said.add(kind, text, logprobs);
    const { item, events } = this.#begin((place) => new MessageItem(place));
    return events + item.add(kind, text, logprobs);
  }

  #writeReasoning(text: string): string {
    if (this.#said instanceof ReasoningItem) return this.#said.add(text);
    const { item, events } = this.#begin((place) => new ReasoningItem(place));
    return events + item.add(text);
  }

  #endReasoning(signature: Signature | null): string {
    const encrypted = this.#sealed(signature, null);
    const thought = this.#said;
    if (thought instanceof ReasoningItem) {
      this.#said = null;
      return thought.end(encrypted);
    }
    // A thought that the provider does not show, and that has no data to be sent back, is left out.
    return encrypted === null ? "" : this.#closeSaid() + this.#carry(encrypted);
  }

  /** A thought without text. */
  #carry(encrypted: string): string {
    const carrier = this.#add((place) => new ReasoningItem(place));
    return carrier.open() + carrier.end(encrypted);
  }

  /** Begins a message or a thought, which ends the one before. */
  #begin<Item extends MessageItem | ReasoningItem>(create: (place: ItemPlace) => Item) {
    const closed = this.#closeSaid() + this.#closeWholeCall();
    const item = this.#add(create);
    this.#said = item;
    return { item, events: closed + item.open() };
  }

  #writeImage(mediaType: string, data: string): string {
    const closed = this.#closeSaid() + this.#closeWholeCall();
    const item = this.#add((place) => new ImageItem(place, mediaType));
    return closed + item.open() + item.end(data);
  }

  #beginCall(call: number, id: string, name: string): string {
    const closed = this.#closeSaid() + this.#closeWholeCall();
    // Clients match results to calls by their ids, and some upstreams give each call the same one.
    const callId = id === "" || this.#callIds.has(id) ? newId("call") : id;
    this.#callIds.add(callId);
    const tool = this.#parts.tools.toolOf(name);
    const item = this.#add((place) => callItem(place, tool, callId, this.#inputs));
    this.#calls.set(call, item);
    this.#lastCall = item;
    return closed + item.open();
  }

  #endCall(call: number, signature: Signature | null): string {
    const item = this.#calls.get(call);
    // Anthropic ends a call that was cut off, too. The reason for the end of the answer follows.
    if (item === undefined || item.isCut) return "";
    this.#calls.delete(call);
    const closed = item.close("completed");
    const encrypted = this.#sealed(signature, item.callId);
    // A call has no field for the data that its provider wants back.
    return encrypted === null ? closed : closed + this.#carry(encrypted);
  }

  /** The sealed signature; `null` if it is of no use, because neither the client gets it nor a stored response contains it. */
  #sealed(signature: Signature | null, callId: string | null): string | null {
    const { owned, signatures } = this.#parts;
    if (signature === null || !(this.#showsEncrypted || owned.store === true)) return null;
    return signatures.seal({ signature, callId });
  }

  #closeSaid(messageStatus: ItemStatus = "completed"): string {
    const said = this.#said;
    this.#said = null;
    return said?.close(said instanceof MessageItem ? messageStatus : "completed") ?? "";
  }

  /** Completes the last call if nothing can be added to its input. What its provider wants back follows at its end. */
  #closeWholeCall(): string {
    const call = this.#lastCall;
    this.#lastCall = null;
    return this.#parts.isStreamed && call?.isWhole === true ? call.close("completed") : "";
  }

  #closeAll(status: ItemStatus): string {
    let closed = this.#closeSaid(status);
    for (const call of this.#calls.values()) closed += call.close(status);
    this.#calls.clear();
    return closed;
  }

  #add<Item extends OutputItem>(open: (place: ItemPlace) => Item): Item {
    const emit = (type: string, fields: JsonObject) => this.#emit(type, fields);
    const item = open({ index: this.#items.length, emit, showsEncrypted: this.#showsEncrypted });
    this.#items.push(item);
    return item;
  }

  #output(withEncrypted: boolean): readonly JsonObject[] {
    return this.#items.map((item) => item.value(withEncrypted));
  }

  #ended(usage: Usage | null): JsonObject {
    const reason = INCOMPLETE[this.#reason];
    return {
      ...this.#state(this.#ending),
      completed_at: this.#completedAt,
      incomplete_details: reason === undefined ? null : { reason },
      usage: usage === null ? null : responseUsageOf(usage),
    };
  }

  /** The members of the response that do not repeat the request. */
  #state(status: ItemStatus | "failed"): JsonObject {
    const { head, owned } = this.#parts;
    return {
      id: `resp_${head.id}`,
      object: "response",
      created_at: head.created,
      completed_at: null,
      status,
      error: null,
      incomplete_details: null,
      model: head.model,
      output: status === "in_progress" ? [] : this.#output(this.#showsEncrypted),
      usage: null,
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
    // The texts are joined, because copying the fields into another object would take as long as writing them.
    const head = `{"type":"${type}","sequence_number":${this.#sequence++}`;
    return responseEventText(type, `${head},${JSON.stringify(fields).slice(1)}`);
  }
}

/** The members of a function that a response repeats. Clients of the Open Responses specification refuse one without them. */
const NO_FUNCTION_MEMBERS = { description: null, parameters: null, strict: null };

function repeatedTools(tools: Json | undefined): readonly Json[] {
  return arrayOf(tools).map((tool) =>
    isJsonObject(tool) && tool.type === "function" ? { ...NO_FUNCTION_MEMBERS, ...tool } : tool,
  );
}

/** The members of a response that repeat its request, or the default of what was not asked for. */
function repeatedFields(request: JsonBody): JsonObject {
  const body = request.value;
  const text = objectOf(request.exact("text"));
  return {
    // OpenAI's libraries require it. A translated request has no special access.
    access_programs: null,
    background: false,
    // The specification of Open Responses has them. Requests of OpenAI's API do not.
    frequency_penalty: 0,
    presence_penalty: 0,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...objectOf(body.reasoning) },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier ?? "default",
    temperature: body.temperature ?? 1,
    text: { ...text, format: text.format ?? { type: "text" }, verbosity: text.verbosity ?? "medium" },
    tool_choice: body.tool_choice ?? "auto",
    tools: repeatedTools(request.exact("tools")),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    user: body.user ?? null,
  };
}
