import { setImmediate } from "node:timers/promises";
import { EventReader, EventTooLarge } from "../../../sdk/src/contract/event-reader.ts";
import { isJsonObject, type JsonObject } from "../json/json.ts";
import { JsonBody } from "../json/json-body.ts";
import { MAX_EVENT_BYTES } from "./post-json.ts";
import { malformedResponse } from "./refusal.ts";

const LINE_FEED = 0x0a;

/** Changes the events of an upstream's stream for a client of the same wire. */
export interface EventForwarder {
  /** Whether the first event is sent before the rest of its piece is changed. */
  readonly sendsFirstAhead: boolean;
  /** Whether the answer is complete: what the stream has after that is not read. */
  readonly isDone: boolean;
  /** The client's text for the data of an event; may be empty. @throws what ends the stream. */
  forward(data: string): string;
  /** The stream has ended. @throws {TransportError} if the answer is incomplete. */
  end(): void;
}

/** The text of a stream for the client: one piece for each piece from the upstream, however many events are in it. */
export async function* forwardedEvents(
  body: AsyncIterable<Uint8Array>,
  forwarder: EventForwarder,
): AsyncGenerator<string> {
  const reader = new EventReader(MAX_EVENT_BYTES);
  let fault: unknown = null;
  /** The text up to the event that ends the stream with a fault: the events before it are valid. */
  const textOf = (read: () => readonly string[]): string => {
    let text = "";
    try {
      for (const data of read()) {
        if (forwarder.isDone) break;
        text += forwarder.forward(data);
      }
    } catch (thrown) {
      // A value that is nested too deeply to be walked through is a RangeError.
      fault = thrown instanceof EventTooLarge || thrown instanceof RangeError ? malformedResponse() : thrown;
    }
    return text;
  };
  let isAhead = forwarder.sendsFirstAhead;
  for await (const bytes of body) {
    let rest = bytes;
    if (isAhead) {
      const end = endOfEvent(bytes);
      rest = bytes.subarray(end);
      const first = textOf(() => reader.push(bytes.subarray(0, end)));
      if (first !== "") {
        isAhead = false;
        yield first;
        // It is written to the socket before the rest is changed.
        if (rest.length > 0) await setImmediate();
      }
      if (fault !== null) throw fault;
    }
    const text = textOf(() => reader.push(rest));
    if (text !== "") yield text;
    if (fault !== null) throw fault;
    if (forwarder.isDone) return;
  }
  const text = textOf(() => reader.end());
  if (text !== "") yield text;
  if (fault !== null) throw fault;
  if (!forwarder.isDone) forwarder.end();
}

/** The position after the piece's first event, or the end of the piece if no event ends in it with a blank line. */
function endOfEvent(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === LINE_FEED) return at + 2;
  }
  return bytes.length;
}

/** JSON on one line. Data of several lines is one event, and a line break in JSON is white space. */
export function oneLine(json: string): string {
  return json.includes("\n") ? json.replaceAll("\n", " ") : json;
}

/** A member of an object that is an object itself, with its text. @throws {UpstreamRefused} if it is none. */
export function innerBody(outer: JsonBody, name: string): JsonBody {
  const member = outer.members.findLast((one) => one.name === name);
  const value = outer.value[name];
  if (member === undefined || !isJsonObject(value)) throw malformedResponse();
  return parsedBody(outer.text.slice(member.valueStart, member.valueEnd), value);
}

/** An object with the text of one member replaced by other JSON. */
export function withMemberText(outer: JsonBody, name: string, text: string): string {
  const member = outer.members.findLast((one) => one.name === name);
  if (member === undefined) throw malformedResponse();
  return outer.text.slice(0, member.valueStart) + text + outer.text.slice(member.valueEnd);
}

/**
 * The body of an event or an answer.
 *
 * @param value What the text stands for, if it was parsed before.
 * @throws {UpstreamRefused} if it is malformed.
 */
export function parsedBody(text: string, value: JsonObject | null = null): JsonBody {
  const body = JsonBody.parse(text, value);
  if (body === null) throw malformedResponse();
  return body;
}
