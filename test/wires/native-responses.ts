import type { ReceivedRequest } from "../fixtures/model-server.ts";
import type { ResponseEvent } from "./response-stream.ts";

const NATIVE_USAGE = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 10, cache_write_tokens: 0 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 42,
};
/** A thought of the upstream. */
export const THOUGHT = {
  id: "rs_upstream1",
  type: "reasoning",
  status: "completed",
  summary: [{ type: "summary_text", text: "hmm" }],
  encrypted_content: "the provider's own",
};
/** A message of the upstream. */
export const MESSAGE = {
  id: "msg_upstream1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "from afar", annotations: [], logprobs: [] }],
};

/** A response of the upstream. It stores nothing, and calls the model `inner`. */
export function upstreamResponse(fields: object = {}): ResponseEvent {
  return {
    id: `resp_${crypto.randomUUID().replaceAll("-", "")}`,
    object: "response",
    created_at: 1,
    status: "completed",
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: "inner",
    output: [THOUGHT, MESSAGE],
    parallel_tool_calls: true,
    previous_response_id: null,
    store: false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    usage: NATIVE_USAGE,
    vendor_extra: { kept: 1 },
    ...fields,
  };
}

/** The events of a response with a thought and a message, without its last. */
export function beginningOf(response: ResponseEvent): ResponseEvent[] {
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
  const text = { item_id: MESSAGE.id, output_index: 1, content_index: 0 };
  const thought = { item_id: THOUGHT.id, output_index: 0, summary_index: 0 };
  const events = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...THOUGHT, status: "in_progress", summary: [], encrypted_content: "not yet" },
    },
    { type: "response.reasoning_summary_part.added", ...thought, part: { type: "summary_text", text: "" } },
    { type: "response.reasoning_summary_text.delta", ...thought, delta: "hmm" },
    { type: "response.reasoning_summary_text.done", ...thought, text: "hmm" },
    { type: "response.reasoning_summary_part.done", ...thought, part: { type: "summary_text", text: "hmm" } },
    { type: "response.output_item.done", output_index: 0, item: THOUGHT },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: { ...MESSAGE, status: "in_progress", content: [] },
    },
    { type: "response.content_part.added", ...text, part },
    { type: "response.output_text.delta", ...text, delta: "from afar", logprobs: [], obfuscation: "x1" },
    { type: "response.output_text.done", ...text, text: "from afar", logprobs: [] },
    { type: "response.content_part.done", ...text, part: { ...part, text: "from afar" } },
    { type: "response.output_item.done", output_index: 1, item: MESSAGE },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

/** The events of a response with a thought and a message. `type`: that of the last. */
export function eventsOfUpstream(response: ResponseEvent, type = "response.completed"): ResponseEvent[] {
  const events = beginningOf(response);
  return [...events, { type, sequence_number: events.length, response }];
}

/** Answers with a whole response. */
export const answersWhole =
  (body: object) =>
  ({ response }: ReceivedRequest) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(body));
