import { expect } from "vitest";
import { EventReader } from "../../sdk/src/contract/event-reader.ts";

/** An event of the Responses API. */
// biome-ignore lint/suspicious/noExplicitAny: a wire format, compared with what it should be
export type ResponseEvent = Record<string, any>;

const MEMBERS = [
  "id",
  "object",
  "created_at",
  "status",
  "model",
  "output",
  "error",
  "incomplete_details",
  "instructions",
  "metadata",
  "parallel_tool_calls",
  "temperature",
  "top_p",
  "tool_choice",
  "tools",
  "text",
  "previous_response_id",
  "store",
  "usage",
];
/** The type of the items that an event may belong to. */
const ITEM_TYPES: Readonly<Record<string, string>> = {
  "response.content_part.added": "message",
  "response.content_part.done": "message",
  "response.output_text.delta": "message",
  "response.output_text.done": "message",
  "response.refusal.delta": "message",
  "response.refusal.done": "message",
  "response.function_call_arguments.delta": "function_call",
  "response.function_call_arguments.done": "function_call",
  "response.custom_tool_call_input.delta": "custom_tool_call",
  "response.custom_tool_call_input.done": "custom_tool_call",
  "response.reasoning_summary_part.added": "reasoning",
  "response.reasoning_summary_part.done": "reasoning",
  "response.reasoning_summary_text.delta": "reasoning",
  "response.reasoning_summary_text.done": "reasoning",
};
const FINAL = ["response.completed", "response.incomplete", "response.failed"];

/** Reads a stream. Each event's name has to be its type. */
export function eventsOf(text: string): ResponseEvent[] {
  const reader = new EventReader(1_000_000);
  return reader.pushEvents(new TextEncoder().encode(text)).map(({ event, data }) => {
    const parsed = JSON.parse(data);
    expect(event).toBe(parsed.type);
    return parsed;
  });
}

/** All members that clients read are there, those of the usage included. */
export function expectWhole(response: ResponseEvent): void {
  for (const name of MEMBERS) expect(response, name).toHaveProperty(name);
  expect(response.object).toBe("response");
  expect(response.text).toHaveProperty("format.type");
  if (response.status !== "completed" && response.status !== "incomplete") return;
  expect(response.usage).toMatchObject({
    input_tokens: expect.any(Number),
    input_tokens_details: { cached_tokens: expect.any(Number) },
    output_tokens: expect.any(Number),
    output_tokens_details: { reasoning_tokens: expect.any(Number) },
    total_tokens: expect.any(Number),
  });
}

interface Item {
  readonly id: string;
  readonly type: string;
  readonly callId: string | undefined;
  readonly parts: string[];
  isDone: boolean;
  text: string;
}

/**
 * Requires of a stream what the strictest client requires: the accumulator of the openai package, and more. Returns its last response.
 */
export function expectResponseStream(events: readonly ResponseEvent[]): ResponseEvent {
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  expect(events[0]?.type).toBe("response.created");
  expect(events[1]?.type).toBe("response.in_progress");
  const items: Item[] = [];
  const last = events.at(-1);
  for (const event of events) {
    if ("response" in event) {
      expectWhole(event.response);
      expect(event.response.id).toBe(events[0]?.response.id);
      expect(FINAL.includes(event.type)).toBe(event === last);
      continue;
    }
    if (event.type === "error") expectError(event, events);
    else if (event.type !== "keepalive") expectItemEvent(event, items);
  }
  expect(FINAL).toContain(last?.type);
  const { response } = last ?? {};
  if (response.status === "failed") {
    expect(events.at(-2)?.type).toBe("error");
  } else {
    expect(items.every(({ isDone }) => isDone)).toBe(true);
    expect(response.output.map(({ id }: ResponseEvent) => id)).toEqual(items.map(({ id }) => id));
  }
  return response;
}

/** An error comes before `response.failed`, with the same members. OpenAI's libraries throw at its `error`. */
function expectError({ code, message, param, error }: ResponseEvent, events: readonly ResponseEvent[]): void {
  expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
  expect(error).toEqual({ type: expect.any(String), code, message, param });
  expect(events.at(-1)?.response.error).toEqual({ code, message });
}

function expectItemEvent(event: ResponseEvent, items: Item[]): void {
  const { type, item, output_index: index } = event;
  if (type === "response.output_item.added") {
    expect(index).toBe(items.length);
    expect(item.id).toMatch(/^[a-z]+_\w{8,}$/);
    expect(items.map(({ id }) => id)).not.toContain(item.id);
    if (item.call_id !== undefined) expect(items.map(({ callId }) => callId)).not.toContain(item.call_id);
    expect(item.status).toBe("in_progress");
    items.push({ id: item.id, type: item.type, callId: item.call_id, parts: [], isDone: false, text: "" });
    return;
  }
  const known = items[index];
  if (known === undefined) throw new Error(`${type} for an item that was not added`);
  expect(known.isDone, `${type} after the item was done`).toBe(false);
  if (type === "response.output_item.done") {
    expect(item).toMatchObject({ id: known.id, type: known.type });
    expect(item.call_id).toBe(known.callId);
    expect(item.status).not.toBe("in_progress");
    known.isDone = true;
    return;
  }
  expect(event.item_id).toBe(known.id);
  expect(Object.keys(ITEM_TYPES), "an event that clients know").toContain(type);
  expect(known.type).toBe(ITEM_TYPES[type]);
  expectPieces(event, known);
}

function expectPieces(event: ResponseEvent, item: Item): void {
  const { type } = event;
  if (/part\.added$/.test(type)) {
    expect(event.content_index ?? event.summary_index).toBe(item.parts.length);
    item.parts.push(event.part.type);
    item.text = "";
  } else if (/part\.done$/.test(type)) {
    expect(event.part.text ?? event.part.refusal).toBe(item.text);
  } else if (/\.delta$/.test(type)) {
    expect(event.delta).not.toBe("");
    if (item.type === "message" || item.type === "reasoning") {
      expect(event.content_index ?? event.summary_index).toBe(item.parts.length - 1);
    }
    if (type === "response.output_text.delta") expect(event.logprobs).toEqual([]);
    item.text += event.delta;
  } else {
    expect(event.text ?? event.refusal ?? event.arguments ?? event.input).toBe(item.text);
  }
}
