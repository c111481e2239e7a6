import type { Asked, Piece, Script } from "./script.ts";
import { USAGE } from "./script.ts";
import { type Body, eventOf, type Frame, list, record, textOf } from "./wire.ts";

// OpenAI's Chat Completions, as its reference documents them.

export function readChat(body: Body): Asked {
  const messages = list(body.messages).map(record);
  const afterTools = messages.findLastIndex(({ role }) => role !== "tool");
  return {
    said: messages.flatMap(({ role, content }) => (role === "user" ? [textOf(content)] : [])),
    instructions: messages
      .flatMap(({ role, content }) => (role === "system" || role === "developer" ? [textOf(content)] : []))
      .join(" "),
    tools: list(body.tools).map((tool) => ({ name: String(record(record(tool).function).name) })),
    results: messages.slice(afterTools + 1).map(({ content }) => textOf(content)),
  };
}

const usage = {
  prompt_tokens: USAGE.prompt,
  completion_tokens: USAGE.completion,
  total_tokens: USAGE.prompt + USAGE.completion,
  prompt_tokens_details: { cached_tokens: USAGE.cached },
  completion_tokens_details: { reasoning_tokens: USAGE.reasoning },
};

export function wholeChat({ pieces, finish }: Script): object {
  const calls = pieces.flatMap((piece) => ("tool" in piece ? [callOf(piece)] : []));
  const message = {
    role: "assistant",
    content: pieces.map((piece) => ("text" in piece ? piece.text : "")).join("") || null,
    reasoning_content: pieces.map((piece) => ("thought" in piece ? piece.thought : "")).join("") || undefined,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const reason = calls.length > 0 ? "tool_calls" : finish;
  return {
    id: "chatcmpl-stub",
    object: "chat.completion",
    created: 1,
    model: "stub",
    choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
    usage,
  };
}

export function* streamChat({ pieces, finish }: Script): Generator<Frame> {
  const chunk = (delta: object, reason: string | null = null, more: object = {}) =>
    eventOf(null, {
      id: "chatcmpl-stub",
      object: "chat.completion.chunk",
      created: 1,
      model: "stub",
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      ...more,
    });
  yield chunk({ role: "assistant", content: "" });
  let index = 0;
  for (const piece of pieces) {
    if ("text" in piece) yield chunk({ content: piece.text });
    else if ("thought" in piece) yield chunk({ reasoning_content: piece.thought });
    else {
      const { function: called, ...head } = callOf(piece);
      yield chunk({ tool_calls: [{ index, ...head, function: { ...called, arguments: "" } }] });
      const middle = Math.ceil(called.arguments.length / 2);
      for (const part of [called.arguments.slice(0, middle), called.arguments.slice(middle)]) {
        yield chunk({ tool_calls: [{ index, function: { arguments: part } }] });
      }
      index++;
    }
  }
  yield chunk({}, index > 0 ? "tool_calls" : finish);
  yield eventOf(null, {
    id: "chatcmpl-stub",
    object: "chat.completion.chunk",
    created: 1,
    model: "stub",
    choices: [],
    usage,
  });
  yield "data: [DONE]\n\n";
}

let calls = 0;

function callOf({ tool, input }: Extract<Piece, { tool: unknown }>) {
  return { id: `call_${++calls}`, type: "function", function: { name: tool.name, arguments: input } };
}
