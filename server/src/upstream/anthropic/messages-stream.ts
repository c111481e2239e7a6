import {
  EARLY_MESSAGES_CONTROL_EVENTS,
  MESSAGES_CONTROL_EVENTS,
  messagesEvent,
} from "../../conversation/control-events.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { objectOf } from "../../json/members.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import type { ForwardCall, StreamedAnswer } from "../dialect.ts";
import { innerBody, oneLine, parsedBody, withMemberText } from "../event-json.ts";
import { type EventForwarder, forwardedEvents } from "../forward-events.ts";
import { incompleteAnswer } from "../read-answer.ts";
import { malformedResponse } from "../refusal.ts";
import type { ResponseBody } from "../transport.ts";
import { refusedIn } from "./answer-events.ts";
import { MessageUsage } from "./usage.ts";

/** Events that may come before a message begins. */
const BEFORE_MESSAGE = new Set(["ping", "error", "message_start"]);

/** A streamed answer, with the model's public name. Its last event is held back until it is asked for. */
export function streamedMessage(call: ForwardCall, body: ResponseBody): StreamedAnswer {
  const events = new MessageForwarder(call.publicModel);
  return {
    kind: "stream",
    events: forwardedEvents(body, events),
    last: () => events.last,
    controlEvents: events,
    usage: () => events.wholeUsage,
    usageSoFar: () => events.usage.soFar,
    produced: () => events.produced,
    ignored: () => [],
  };
}

/** Changes the events of a message for the client, and collects usage and text. */
class MessageForwarder implements EventForwarder {
  readonly sendsFirstAhead = false;
  readonly produced = new TextTally();
  readonly usage = new MessageUsage();
  /** `message_stop`, once it was received. */
  last = "";
  readonly #model: string;
  #hasBegun = false;
  /** Whether the upstream has sent the stop reason. */
  #hasStopReason = false;

  constructor(model: string) {
    this.#model = model;
  }

  /** A `message_delta` may come before the end of the text. What it reports is then not yet the usage of the whole message. */
  get wholeUsage(): Usage | null {
    return this.isDone || this.#hasStopReason ? this.usage.whole : null;
  }

  get isDone(): boolean {
    return this.last !== "";
  }

  end(): void {
    throw incompleteAnswer("message_stop");
  }

  heartbeat(): string {
    return (this.#hasBegun ? MESSAGES_CONTROL_EVENTS : EARLY_MESSAGES_CONTROL_EVENTS).heartbeat();
  }

  readonly failure = MESSAGES_CONTROL_EVENTS.failure;

  forward(data: string): string {
    const event = parseJsonObject(data);
    if (event === null || typeof event.type !== "string") throw malformedResponse();
    if (!this.#hasBegun && !BEFORE_MESSAGE.has(event.type)) throw malformedResponse();
    switch (event.type) {
      case "error":
        throw refusedIn(event, data);
      case "message_start":
        this.#hasBegun = true;
        if (isJsonObject(event.message)) this.usage.begin(event.message.usage);
        return messagesEvent(event.type, oneLine(withModel(data, this.#model)));
      case "message_delta":
        this.usage.end(event.usage);
        this.#hasStopReason ||= isJsonObject(event.delta) && typeof event.delta.stop_reason === "string";
        break;
      case "message_stop":
        this.last = messagesEvent(event.type, oneLine(data));
        return "";
      default:
        addProduced(event, this.produced);
    }
    return messagesEvent(safeName(event.type), oneLine(data));
  }
}

/** The event with the model's public name in its message, and otherwise unchanged. */
function withModel(data: string, model: string): string {
  const event = parsedBody(data);
  return withMemberText(event, "message", innerBody(event, "message").textWith({ model }));
}

/** Adds what an event has of the answer: texts, thoughts, summaries of the conversation, names and inputs of tool calls. */
function addProduced({ delta, content_block: block }: JsonObject, tally: TextTally): void {
  const { text, thinking, content: summary, partial_json: input } = objectOf(delta);
  const name = isJsonObject(block) ? block.name : null;
  for (const value of [text, thinking, summary, input, name]) if (typeof value === "string") tally.add(value);
}

/** The name of an event, which stands on a line of its own. */
function safeName(type: string): string {
  return type.replace(/[^\w.-]/g, "_");
}
