import type { Asked, Script } from "./script.ts";
import { USAGE } from "./script.ts";
import { type Body, eventOf, type Frame, list, record, textOf } from "./wire.ts";

// Anthropic's Messages API, as its reference documents it.

export function readMessages(body: Body): Asked {
  const messages = list(body.messages).map(record);
  const blocksOf = (content: unknown) =>
    typeof content === "string" ? [{ type: "text", text: content }] : list(content).map(record);
  const last = blocksOf(messages.at(-1)?.content);
  return {
    said: messages.flatMap(({ role, content }) => {
      const text = blocksOf(content).flatMap((block) => (block.type === "text" ? [String(block.text)] : []));
      // Messages of the user that follow each other may come as the blocks of one.
      return role === "user" ? text : [];
    }),
    instructions: [
      body.system,
      ...messages.flatMap(({ role, content }) => (role === "system" ? [content] : [])),
    ]
      .map(textOf)
      .filter((text) => text !== "")
      .join(" "),
    tools: list(body.tools).flatMap((tool) => {
      const { name, input_schema: schema } = record(tool);
      return schema === undefined ? [] : [{ name: String(name) }];
    }),
    results: last.flatMap(({ type, content }) => (type === "tool_result" ? [textOf(content)] : [])),
  };
}

const usage = {
  input_tokens: USAGE.prompt - USAGE.cached,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: USAGE.cached,
  output_tokens: USAGE.completion,
};

let calls = 0;

function blocksOf({ pieces }: Script) {
  const blocks: { start: Body; deltas: Body[]; whole: Body }[] = [];
  let text: { start: Body; deltas: Body[]; whole: Body } | null = null;
  for (const piece of pieces) {
    if ("text" in piece) {
      if (text === null) {
        text = { start: { type: "text", text: "" }, deltas: [], whole: { type: "text", text: "" } };
        blocks.push(text);
      }
      text.deltas.push({ type: "text_delta", text: piece.text });
      text.whole = { type: "text", text: String(text.whole.text) + piece.text };
      continue;
    }
    text = null;
    if ("thought" in piece) {
      blocks.push({
        start: { type: "thinking", thinking: "", signature: "" },
        deltas: [
          { type: "thinking_delta", thinking: piece.thought },
          { type: "signature_delta", signature: "c2lnbmVk" },
        ],
        whole: { type: "thinking", thinking: piece.thought, signature: "c2lnbmVk" },
      });
      continue;
    }
    const head = { type: "tool_use", id: `toolu_${++calls}`, name: piece.tool.name };
    const middle = Math.ceil(piece.input.length / 2);
    blocks.push({
      start: { ...head, input: {} },
      deltas: [piece.input.slice(0, middle), piece.input.slice(middle)].map((part) => ({
        type: "input_json_delta",
        partial_json: part,
      })),
      whole: { ...head, input: JSON.parse(piece.input) },
    });
  }
  return blocks;
}

function stopOf({ pieces, finish }: Script): string {
  if (pieces.some((piece) => "tool" in piece)) return "tool_use";
  return finish === "length" ? "max_tokens" : "end_turn";
}

export function wholeMessage(script: Script): object {
  return {
    id: "msg_stub",
    type: "message",
    role: "assistant",
    model: "stub",
    content: blocksOf(script).map(({ whole }) => whole),
    stop_reason: stopOf(script),
    stop_sequence: null,
    usage,
  };
}

export function* streamMessage(script: Script): Generator<Frame> {
  const event = (data: { readonly type: string; readonly [name: string]: unknown }) =>
    eventOf(data.type, data);
  yield event({
    type: "message_start",
    message: {
      id: "msg_stub",
      type: "message",
      role: "assistant",
      model: "stub",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    },
  });
  yield event({ type: "ping" });
  for (const [index, { start, deltas }] of blocksOf(script).entries()) {
    yield event({ type: "content_block_start", index, content_block: start });
    for (const delta of deltas) yield event({ type: "content_block_delta", index, delta });
    yield event({ type: "content_block_stop", index });
  }
  yield event({
    type: "message_delta",
    delta: { stop_reason: stopOf(script), stop_sequence: null },
    usage: { output_tokens: USAGE.completion },
  });
  yield event({ type: "message_stop" });
}
