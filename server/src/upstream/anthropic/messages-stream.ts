import { EventReader, EventTooLarge } from "../../../../sdk/src/contract/event-reader.ts";
import { EARLY_MESSAGES_SIGNS, MESSAGES_SIGNS, messagesEvent } from "../../conversation/signs.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import type { ForwardCall, StreamedAnswer } from "../dialect.ts";
import { malformedResponse } from "../refusal.ts";
import { TransportError } from "../transport.ts";
import { refusedIn } from "./error-event.ts";
import { readMessagesUsage } from "./usage.ts";

/** An event larger than this is not a model's answer. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/** Events that may come before a message begins. */
const BEFORE_MESSAGE = new Set(["ping", "error", "message_start"]);

/** A streamed answer, with the model's public name. Its last event is held back until it is asked for. */
export function streamedMessage(call: ForwardCall, body: AsyncIterable<Uint8Array>): StreamedAnswer {
  const events = new MessageForwarder(call.publicModel);
  return {
    kind: "stream",
    events: forwarded(events, body),
    last: () => events.last,
    signs: events,
    usage: () => events.usage,
    promptUsage: () => events.promptUsage,
    produced: () => events.produced,
    ignored: () => [],
  };
}

/** Yields one piece of text for each piece from the upstream, however many events are in it. */
async function* forwarded(events: MessageForwarder, body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const reader = new EventReader(MAX_EVENT_BYTES);
  for await (const bytes of body) {
    const text = events.forward(() => reader.push(bytes));
    if (text !== "") yield text;
    if (events.fault !== null) throw events.fault;
    if (events.isDone) return;
  }
  const text = events.forward(() => reader.end());
  if (text !== "") yield text;
  if (events.fault !== null) throw events.fault;
  if (!events.isDone) throw new TransportError("cut", "the upstream's stream ended without message_stop");
}

/** Changes the events of a message for the client, and collects usage and text. */
class MessageForwarder {
  readonly produced = new TextTally();
  /** `message_stop`, once it was received. */
  last = "";
  /** The error that ended the stream. Events before it are valid. */
  fault: Error | null = null;
  readonly #model: string;
  #usage: JsonObject = {};
  #hasBegun = false;
  #hasFinalUsage = false;

  constructor(model: string) {
    this.#model = model;
  }

  get isDone(): boolean {
    return this.last !== "";
  }

  /** The usage of the whole answer. That of `message_delta` overwrites that of `message_start`. */
  get usage(): Usage | null {
    return this.#hasFinalUsage ? readMessagesUsage(this.#usage) : null;
  }

  /** Without parts of the answer, whose tokens are estimated where this is asked for. */
  get promptUsage(): Usage | null {
    return readMessagesUsage({ ...this.#usage, output_tokens_details: null });
  }

  heartbeat(): string {
    return (this.#hasBegun ? MESSAGES_SIGNS : EARLY_MESSAGES_SIGNS).heartbeat();
  }

  readonly failure = MESSAGES_SIGNS.failure;

  /** The client's events for those whose data `read` returns; may be empty. */
  forward(read: () => readonly string[]): string {
    let text = "";
    try {
      for (const data of read()) {
        if (this.isDone) break;
        text += this.#eventFor(data);
      }
    } catch (error) {
      this.fault = error instanceof EventTooLarge ? malformedResponse() : toError(error);
    }
    return text;
  }

  #eventFor(data: string): string {
    const event = parseJsonObject(data);
    if (event === null || typeof event.type !== "string") throw malformedResponse();
    // Data of several lines is one event. A line break in JSON is white space.
    const line = data.includes("\n") ? data.replaceAll("\n", " ") : data;
    if (!this.#hasBegun && !BEFORE_MESSAGE.has(event.type)) throw malformedResponse();
    switch (event.type) {
      case "error":
        throw refusedIn(event, data);
      case "message_start":
        return this.#begin(event, line);
      case "message_delta":
        this.#noteUsage(event.usage);
        this.#hasFinalUsage ||= isJsonObject(event.usage) && typeof event.usage.output_tokens === "number";
        break;
      case "message_stop":
        this.last = messagesEvent(event.type, line);
        return "";
      default:
        addProduced(event, this.produced);
    }
    return messagesEvent(safeName(event.type), line);
  }

  #begin(event: JsonObject, line: string): string {
    this.#hasBegun = true;
    const { message } = event;
    if (isJsonObject(message)) this.#noteUsage(message.usage);
    return messagesEvent("message_start", withModel(line, this.#model));
  }

  #noteUsage(usage: unknown): void {
    if (!isJsonObject(usage)) return;
    const told = Object.entries(usage).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) };
  }
}

/** The event with the model's public name in its message, and otherwise unchanged. */
function withModel(text: string, model: string): string {
  const outer = JsonBody.parse(text);
  const member = outer?.members.find(({ name }) => name === "message");
  const inner = member === undefined ? null : JsonBody.parse(text.slice(member.valueStart, member.valueEnd));
  if (member === undefined || inner === null) throw malformedResponse();
  return text.slice(0, member.valueStart) + inner.textWith({ model }) + text.slice(member.valueEnd);
}

/** Adds what an event has of the answer: texts, thoughts, names and inputs of tool calls. */
function addProduced({ delta, content_block: block }: JsonObject, tally: TextTally): void {
  const { text, thinking, partial_json: input } = isJsonObject(delta) ? delta : {};
  const name = isJsonObject(block) ? block.name : null;
  for (const value of [text, thinking, input, name]) if (typeof value === "string") tally.add(value);
}

/** The name of an event, which stands on a line of its own. */
function safeName(type: string): string {
  return type.replace(/[^\w.-]/g, "_");
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("not an error", { cause: thrown });
}
