import { EventReader } from "../../sdk/src/contract/event-reader.ts";

// biome-ignore lint/suspicious/noExplicitAny: a wire format, compared with what it should be
type Data = any;

export interface MessageEvent {
  readonly event: string;
  readonly data: Data;
}

const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
  redacted_thinking: [],
};

/** The events of a stream. */
export function eventsIn(text: string): readonly MessageEvent[] {
  return new EventReader(1_000_000).pushEvents(Buffer.from(text)).map(({ event, data }) => ({
    event,
    data: JSON.parse(data),
  }));
}

/** What goes wrong in a stream: it is thrown by {@link messageIn}. */
class WrongStream extends Error {}

function demand(holds: boolean, what: string): asserts holds {
  if (!holds) throw new WrongStream(what);
}

/**
 * The message that a complete stream adds up to. It throws unless the events come exactly as Anthropic documents them: named, in order,
 * one block after the other, with the deltas of its type.
 */
export function messageIn(text: string): Data {
  const events = eventsIn(text).filter(({ event }) => event !== "ping");
  for (const { event, data } of events) demand(event === data.type, `${event} is named ${data.type}`);
  const [first, ...rest] = events;
  demand(first?.event === "message_start", "a stream begins with message_start");
  const { message } = first.data;
  demand(message.type === "message" && message.role === "assistant", "a message of the assistant");
  demand(/^msg_/.test(message.id), `the id ${message.id}`);
  demand(message.content.length === 0 && message.stop_reason === null, "message_start has no content");
  demand(message.usage.input_tokens >= 0, "message_start has a count of its input");
  demand(rest.at(-1)?.event === "message_stop", "a stream ends with message_stop");
  demand(rest.at(-2)?.event === "message_delta", "message_delta is the event before");
  const content = blocksIn(rest.slice(0, -2));
  const { delta, usage } = rest.at(-2)?.data ?? {};
  demand(typeof delta.stop_reason === "string", "a reason to stop");
  return { ...message, ...delta, content, usage: { ...message.usage, ...usage } };
}

function blocksIn(events: readonly MessageEvent[]): Data[] {
  const blocks: Data[] = [];
  let open: Data = null;
  let input = "";
  for (const { event, data } of events) {
    if (event === "content_block_start") {
      demand(open === null && data.index === blocks.length, `block ${data.index} begins out of order`);
      open = { ...data.content_block };
      input = "";
      continue;
    }
    demand(open !== null && data.index === blocks.length, `${event} of block ${data.index}`);
    if (event === "content_block_stop") {
      if (open.type === "tool_use") open.input = JSON.parse(input === "" ? "{}" : input);
      blocks.push(open);
      open = null;
      continue;
    }
    demand(event === "content_block_delta", `${event} among blocks`);
    const { type, text = "", thinking = "", signature, partial_json: json = "" } = data.delta;
    demand(DELTAS[open.type]?.includes(type) === true, `${type} in a block of ${open.type}`);
    if (type === "text_delta") open.text += text;
    if (type === "thinking_delta") open.thinking += thinking;
    if (type === "signature_delta") open.signature = signature;
    input += json;
  }
  demand(open === null, "a block is not closed");
  return blocks;
}
