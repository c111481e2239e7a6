import type { Asked, OfferedTool, Piece, Script } from "./script.ts";
import { USAGE } from "./script.ts";
import { type Body, eventOf, type Frame, list, record, textOf } from "./wire.ts";

// OpenAI's Responses API, as its reference documents it.

export function readResponses(body: Body): Asked {
  const items =
    typeof body.input === "string" ? [{ role: "user", content: body.input }] : list(body.input).map(record);
  const isOutput = ({ type }: Body) => type === "function_call_output" || type === "custom_tool_call_output";
  const afterTools = items.findLastIndex((item) => !isOutput(item));
  const hoisted = items.flatMap((item) => (item.type === "additional_tools" ? list(item.tools) : []));
  return {
    said: items.flatMap(({ role, content }) => (role === "user" ? [textOf(content)] : [])),
    instructions: [
      body.instructions,
      ...items.flatMap(({ role, content }) => (isInstruction(role) ? [content] : [])),
    ]
      .map(textOf)
      .filter((text) => text !== "")
      .join(" "),
    tools: [...list(body.tools), ...hoisted].flatMap((tool) => toolsOf(record(tool))),
    results: items.slice(afterTools + 1).map(({ output }) => textOf(output)),
  };
}

function isInstruction(role: unknown): boolean {
  return role === "system" || role === "developer";
}

function toolsOf({ type, name, tools }: Body, namespace?: string): OfferedTool[] {
  if (type === "namespace") return list(tools).flatMap((tool) => toolsOf(record(tool), String(name)));
  if (type !== "function" && type !== "custom") return [];
  const inNamespace = namespace === undefined ? {} : { namespace };
  return [{ name: String(name), isCustom: type === "custom", ...inNamespace }];
}

let ids = 0;

interface Item {
  readonly item: Body;
  /** The events between its beginning and its end, and what each begins with. */
  readonly events: readonly Body[];
  /** As it begins. */
  readonly empty: Body;
}

function itemsOf({ pieces }: Script, status: string): Item[] {
  const items: Item[] = [];
  const said = pieces.flatMap((piece) => ("text" in piece ? [piece.text] : []));
  for (const piece of pieces) if ("thought" in piece) items.push(thought(piece.thought));
  if (said.length > 0) items.push(message(said, status));
  for (const piece of pieces) if ("tool" in piece) items.push(call(piece));
  return items;
}

function thought(text: string): Item {
  const id = `rs_${++ids}`;
  const part = { type: "summary_text", text };
  return {
    empty: { id, type: "reasoning", summary: [] },
    item: { id, type: "reasoning", summary: [part], encrypted_content: "ZW5jcnlwdGVk" },
    events: [
      {
        type: "response.reasoning_summary_part.added",
        item_id: id,
        summary_index: 0,
        part: { ...part, text: "" },
      },
      { type: "response.reasoning_summary_text.delta", item_id: id, summary_index: 0, delta: text },
      { type: "response.reasoning_summary_text.done", item_id: id, summary_index: 0, text },
      { type: "response.reasoning_summary_part.done", item_id: id, summary_index: 0, part },
    ],
  };
}

function message(said: readonly string[], status: string): Item {
  const id = `msg_${++ids}`;
  const part = { type: "output_text", text: said.join(""), annotations: [], logprobs: [] };
  const at = { item_id: id, content_index: 0 };
  return {
    empty: { id, type: "message", role: "assistant", status: "in_progress", content: [] },
    item: { id, type: "message", role: "assistant", status, content: [part] },
    events: [
      { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
      ...said.map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [] })),
      { type: "response.output_text.done", ...at, text: part.text, logprobs: [] },
      { type: "response.content_part.done", ...at, part },
    ],
  };
}

function call({ tool, input }: Extract<Piece, { tool: unknown }>): Item {
  const callId = `call_${++ids}`;
  const at = { name: tool.name, ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }) };
  const deltas = [input.slice(0, 3), input.slice(3)];
  if (tool.isCustom === true) {
    const id = `ctc_${ids}`;
    const head = { id, type: "custom_tool_call", call_id: callId, ...at };
    return {
      empty: { ...head, input: "" },
      item: { ...head, input },
      events: [
        ...deltas.map((delta) => ({ type: "response.custom_tool_call_input.delta", item_id: id, delta })),
        { type: "response.custom_tool_call_input.done", item_id: id, input },
      ],
    };
  }
  const id = `fc_${ids}`;
  const head = { id, type: "function_call", call_id: callId, ...at };
  return {
    empty: { ...head, arguments: "", status: "in_progress" },
    item: { ...head, arguments: input, status: "completed" },
    events: [
      ...deltas.map((delta) => ({ type: "response.function_call_arguments.delta", item_id: id, delta })),
      { type: "response.function_call_arguments.done", item_id: id, name: tool.name, arguments: input },
    ],
  };
}

function responseOf(script: Script, output: readonly Body[], isOver: boolean): Body {
  const isCut = script.finish === "length";
  return {
    id: "resp_stub",
    object: "response",
    created_at: 1,
    status: isOver ? (isCut ? "incomplete" : "completed") : "in_progress",
    model: "stub",
    output,
    error: null,
    incomplete_details: isOver && isCut ? { reason: "max_output_tokens" } : null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    tool_choice: "auto",
    tools: [],
    text: { format: { type: "text" } },
    previous_response_id: null,
    store: false,
    usage: isOver
      ? {
          input_tokens: USAGE.prompt,
          input_tokens_details: { cached_tokens: USAGE.cached, cache_write_tokens: 0 },
          output_tokens: USAGE.completion,
          output_tokens_details: { reasoning_tokens: USAGE.reasoning },
          total_tokens: USAGE.prompt + USAGE.completion,
        }
      : null,
  };
}

function statusOf({ finish }: Script): string {
  return finish === "length" ? "incomplete" : "completed";
}

export function wholeResponse(script: Script): object {
  const output = itemsOf(script, statusOf(script)).map(({ item }) => item);
  return responseOf(script, output, true);
}

export function* streamResponse(script: Script): Generator<Frame> {
  let sequence = 0;
  const event = (data: Body) => eventOf(String(data.type), { ...data, sequence_number: sequence++ });
  yield event({ type: "response.created", response: responseOf(script, [], false) });
  yield event({ type: "response.in_progress", response: responseOf(script, [], false) });
  const items = itemsOf(script, statusOf(script));
  for (const [index, { item, events, empty }] of items.entries()) {
    yield event({ type: "response.output_item.added", output_index: index, item: empty });
    for (const between of events) yield event({ ...between, output_index: index });
    yield event({ type: "response.output_item.done", output_index: index, item });
  }
  const output = items.map(({ item }) => item);
  const type = script.finish === "length" ? "response.incomplete" : "response.completed";
  yield event({ type, response: responseOf(script, output, true) });
}
