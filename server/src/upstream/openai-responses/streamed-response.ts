import {
  EARLY_RESPONSE_CONTROL_EVENTS,
  failedResponseEvents,
  keepaliveEvent,
  responseErrorOf,
  responseEventText,
} from "../../conversation/response-format.ts";
import type { ControlEvents } from "../../conversation/wire.ts";
import type { Failure } from "../../errors/failure.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { textOf } from "../../json/members.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { MAX_ANSWER_BYTES } from "../answer-body.ts";
import type { AnswerMemory } from "../answer-memory.ts";
import type { ForwardCall, StreamedAnswer } from "../dialect.ts";
import { innerBody, oneLine, parsedBody, withMemberText } from "../event-json.ts";
import { type EventForwarder, forwardedEvents } from "../forward-events.ts";
import { readResponsesUsageSoFar, readUsageOfResponse } from "../openai/usage.ts";
import { incompleteAnswer } from "../read-answer.ts";
import { jsonText, malformedResponse } from "../refusal.ts";
import type { ResponseBody } from "../transport.ts";
import { ResponseEditor } from "./edited-response.ts";
import { endingAfter, HeldFailure } from "./held-failure.ts";

/** Types of events whose `response` is edited. */
const LIFECYCLE = new Set(["response.created", "response.queued", "response.in_progress"]);
const FINAL = new Set(["response.completed", "response.incomplete"]);
const ITEMS = new Set(["response.output_item.added", "response.output_item.done"]);
/** Any other event, such as a `keepalive` or the limits of a Codex account, tells nothing of the response. It may come at any time. */
const OF_RESPONSE = /^response\./;
/** The items of a stream are kept until its end, as long as a whole answer may be. */
const MAX_KEPT_CHARACTERS = MAX_ANSWER_BYTES;
/** An event's type stands on a line of its own. */
const TYPE = /^[\w.-]{1,100}$/;

/** A streamed response, with its events edited for the client. The last one is held back until the response is recorded. */
export function streamedResponse(call: ForwardCall, body: ResponseBody): StreamedAnswer {
  const failure = new HeldFailure();
  const forwarder = new ResponseForwarder(call, body.memory, failure);
  return {
    kind: "stream",
    events: forwardedEvents(endingAfter(failure, body), forwarder),
    last: (usage, changes) => forwarder.last(usage, changes),
    controlEvents: forwarder,
    usage: () => forwarder.usage,
    usageSoFar: () => forwarder.usageSoFar,
    produced: () => forwarder.produced,
    ignored: () => [],
    stored: (usage) => forwarder.stored(usage),
  };
}

class ResponseForwarder implements EventForwarder, ControlEvents {
  readonly sendsFirstAhead = false;
  readonly produced = new TextTally();
  usage: Usage | null = null;
  usageSoFar: Usage | null = null;
  readonly #editor: ResponseEditor;
  readonly #memory: AnswerMemory | undefined;
  readonly #failure: HeldFailure;
  /** The number of the next event. */
  #sequence = 0;
  /** The response as the client has it, as JSON; `null` before it has begun. */
  #response: string | null = null;
  /** The items that are complete, as the client has them. */
  readonly #output: Json[] = [];
  /** These items as the upstream has sent them. */
  readonly #received: Json[] = [];
  #keptCharacters = 0;
  #final: { readonly type: string; readonly body: JsonBody } | null = null;

  constructor(call: ForwardCall, memory: AnswerMemory | undefined, failure: HeldFailure) {
    this.#memory = memory;
    this.#failure = failure;
    this.#editor = new ResponseEditor(call);
  }

  get isDone(): boolean {
    return this.#final !== null;
  }

  end(): void {
    this.#failure.end();
    throw incompleteAnswer("a final event");
  }

  /** Takes no number, because it may be asked for again, or a failure may take its place. */
  last(usage: Usage, changes: JsonObject): string {
    const { type, body } = this.#finalEvent();
    const inner = innerBody(body, "response");
    const more = hasOutput(inner.value) ? changes : { output: this.#output, ...changes };
    const response = this.#editor.edited(inner, usage, more);
    return eventText(type, body, withMemberText(body, "response", response), this.#sequence);
  }

  stored(usage: Usage): string {
    const inner = innerBody(this.#finalEvent().body, "response");
    return this.#editor.stored(inner, usage, hasOutput(inner.value) ? {} : { output: this.#received });
  }

  heartbeat(): string {
    return this.#response === null
      ? EARLY_RESPONSE_CONTROL_EVENTS.heartbeat()
      : keepaliveEvent(this.#sequence++);
  }

  failure(failure: Failure): string {
    if (this.#response === null) return EARLY_RESPONSE_CONTROL_EVENTS.failure(failure);
    // A response that has failed is not stored.
    const failed = { status: "failed", error: responseErrorOf(failure), output: this.#output, store: false };
    const response = { ...parseJsonObject(this.#response), ...failed };
    return failedResponseEvents(failure, this.#sequence, JSON.stringify(response));
  }

  #finalEvent() {
    if (this.#final === null) throw new Error("the response has not ended");
    return this.#final;
  }

  forward(data: string): string {
    // Some servers end their streams as chat completions do.
    if (data === "[DONE]") return "";
    const event = parseJsonObject(data);
    if (event === null) throw malformedResponse();
    const type = textOf(event.type) ?? "";
    // A response that has failed tells what it has used, too.
    if (isJsonObject(event.response))
      this.usageSoFar = readResponsesUsageSoFar(event.response.usage) ?? this.usageSoFar;
    if (this.#failure.take(event)) return "";
    if (!TYPE.test(type)) throw malformedResponse();
    // Clients take nothing before the response has begun, and have heartbeats of the service.
    if (this.#response === null && !OF_RESPONSE.test(type)) return "";
    if (this.#response === null && !LIFECYCLE.has(type)) throw malformedResponse();
    if (FINAL.has(type)) return this.#hold(type, parsedBody(data, event));
    this.#note(type, event, data.length);
    if (LIFECYCLE.has(type)) return this.#forwardResponse(type, parsedBody(data, event));
    const item = ITEMS.has(type) ? this.#editor.editedItem(event.item) : null;
    if (item === null && event.sequence_number === this.#sequence) {
      this.#sequence++;
      return responseEventText(type, oneLine(data));
    }
    const body = parsedBody(data, event);
    const text = item === null ? data : withMemberText(body, "item", JSON.stringify(item));
    return eventText(type, body, text, this.#sequence++);
  }

  #forwardResponse(type: string, body: JsonBody): string {
    const edited = this.#editor.edited(innerBody(body, "response"), null);
    this.#response = edited;
    return eventText(type, body, withMemberText(body, "response", edited), this.#sequence++);
  }

  #hold(type: string, body: JsonBody): string {
    this.usage = readUsageOfResponse(innerBody(body, "response").value);
    this.#final = { type, body };
    return "";
  }

  /** Collects what the model has produced. */
  #note(type: string, event: JsonObject, characters: number): void {
    if (typeof event.delta === "string") this.produced.add(event.delta);
    if (type !== "response.output_item.done") return;
    this.#keptCharacters += characters;
    if (this.#keptCharacters > MAX_KEPT_CHARACTERS) throw malformedResponse();
    this.#memory?.reserve(characters);
    const item = event.item ?? null;
    // What is nested too deeply to be written again is refused now.
    jsonText(item);
    this.#received.push(item);
    this.#output.push(this.#editor.editedItem(item) ?? item);
  }
}

/** Whether the last event has the items. Some servers send them only one by one. */
function hasOutput({ output }: JsonObject): boolean {
  return Array.isArray(output) && output.length > 0;
}

/** An event with its number: those of the upstream are off by the heartbeats in between. */
function eventText(type: string, { value }: JsonBody, text: string, number: number): string {
  const isRight = value.sequence_number === number;
  const numbered = isRight ? text : parsedBody(text).textWith({ sequence_number: number });
  return responseEventText(type, oneLine(numbered));
}
