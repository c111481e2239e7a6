import { envelopeOf, type Failure } from "../errors/failure.ts";
import { messagesErrorOf } from "../errors/messages-error.ts";
import type { ControlEvents } from "./wire.ts";

/** A comment, which readers of server-sent events pass over. */
export const HEARTBEAT = ": waiting\n\n";
/** Ends a stream of chat completion chunks. */
export const LAST_CHUNK = "data: [DONE]\n\n";

/** Of a stream of chat completion chunks, which reports a failure as an event with OpenAI's error envelope. */
export const CHAT_CONTROL_EVENTS: ControlEvents = {
  heartbeat: () => HEARTBEAT,
  failure: (failure: Failure) => `data: ${JSON.stringify(envelopeOf(failure))}\n\n`,
};

/** An event of the Messages API. Its clients choose events by the `event` line and ignore those without one. */
export function messagesEvent(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`;
}

/** Of a stream of the Messages API, once its `message_start` was sent. */
export const MESSAGES_CONTROL_EVENTS: ControlEvents = {
  heartbeat: () => messagesEvent("ping", '{"type":"ping"}'),
  failure: (failure: Failure) => messagesEvent("error", JSON.stringify(messagesErrorOf(failure))),
};

/** Of a stream of the Messages API before its `message_start`, which has to be the first event. */
export const EARLY_MESSAGES_CONTROL_EVENTS: ControlEvents = {
  ...MESSAGES_CONTROL_EVENTS,
  heartbeat: () => HEARTBEAT,
};
