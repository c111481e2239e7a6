import fc from "fast-check";

// Random answers of models, as the APIs of their providers write them: whole, and as the events of a stream.

export type Item =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly input: string };

export interface RandomAnswer {
  readonly items: readonly Item[];
  /** The characters of a piece of a text. */
  readonly pieceLength: number;
}

/** An answer in the format of a provider. */
export interface WrittenAnswer {
  /** JSON. */
  readonly whole: string;
  /** The data of the events of a stream, each JSON. */
  readonly events: readonly string[];
}

/** Texts with what could be cut or read wrongly: pairs of surrogates and half ones, lines, and words of the formats themselves. */
const text = fc
  .array(
    fc.constantFrom(
      "a",
      " b",
      "ä",
      "😀",
      "\ud83d",
      "\n",
      "\r\n\r\n",
      "data: x\n\n",
      '"',
      "\\",
      "[DONE]",
      "\u{feff}",
    ),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((words) => `${words.join("")}.`);

const item = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text }),
  fc.record({ kind: fc.constant("thought" as const), text }),
  fc.record({
    kind: fc.constant("call" as const),
    id: fc.uuid(),
    name: fc.constantFrom("weather", "time"),
    input: fc.constantFrom("{}", '{"city":"Rome"}', '{"a":{"__proto__":[1.5,"}{"]},"ä":"😀"}'),
  }),
);

/** Texts and thoughts that follow each other are one. */
export const answer: fc.Arbitrary<RandomAnswer> = fc.record({
  items: fc
    .array(item, { minLength: 1, maxLength: 5 })
    .map((items) => items.filter((one, index) => one.kind === "call" || one.kind !== items[index - 1]?.kind)),
  pieceLength: fc.integer({ min: 1, max: 6 }),
});

const callsOf = (items: readonly Item[]) => items.filter((one) => one.kind === "call");

/** A text in pieces, which may divide a pair of surrogates. */
function piecesOf(whole: string, { pieceLength }: RandomAnswer): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < whole.length; at += pieceLength) pieces.push(whole.slice(at, at + pieceLength));
  return pieces;
}

/** A chat completion has one text and one thought, and its calls after them. */
export function completionOf(answered: RandomAnswer): WrittenAnswer {
  const thought = answered.items.find((one) => one.kind === "thought");
  const said = answered.items.find((one) => one.kind === "text");
  const calls = callsOf(answered.items).map(({ id, name, input }, index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: input },
  }));
  const usage = { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 };
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  const message = {
    role: "assistant",
    content: said?.text ?? null,
    reasoning_content: thought?.text,
    tool_calls: calls,
  };
  const chunk = (delta: object, reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const events = [
    chunk({ role: "assistant", content: "" }),
    ...piecesOf(thought?.text ?? "", answered).map((reasoning_content) => chunk({ reasoning_content })),
    ...piecesOf(said?.text ?? "", answered).map((content) => chunk({ content })),
    ...calls.flatMap((call) => [
      chunk({ tool_calls: [{ ...call, function: { ...call.function, arguments: "" } }] }),
      ...piecesOf(call.function.arguments, answered).map((piece) =>
        chunk({ tool_calls: [{ index: call.index, function: { arguments: piece } }] }),
      ),
    ]),
    chunk({}, finish_reason),
    { choices: [], usage },
  ];
  return {
    whole: JSON.stringify({ choices: [{ index: 0, message, finish_reason }], usage }),
    events: [...events.map((event) => JSON.stringify(event)), "[DONE]"],
  };
}

/** A response. Each of its thoughts has two parts, which are paragraphs. */
export function responseOf(answered: RandomAnswer): WrittenAnswer {
  const usage = { input_tokens: 9, output_tokens: 7, total_tokens: 16 };
  const events: object[] = [
    { type: "response.created", response: { id: "r", status: "in_progress", output: [] } },
  ];
  const output = answered.items.map((one, output_index) => {
    const of = { item_id: `item_${output_index}`, output_index };
    const partOf = (type: string, name: string, words: string) => {
      events.push({ type: "response.content_part.added", ...of, part: { type, text: "" } });
      for (const delta of piecesOf(words, answered))
        events.push({ type: `response.${name}.delta`, ...of, delta });
      return { type, text: words };
    };
    const added = (value: object) => {
      events.push({ type: "response.output_item.added", output_index, item: { id: of.item_id, ...value } });
    };
    const done = (value: object) => {
      const whole = { id: of.item_id, ...value };
      events.push({ type: "response.output_item.done", output_index, item: whole });
      return whole;
    };
    if (one.kind === "call") {
      const call = { type: "function_call", call_id: one.id, name: one.name };
      added({ ...call, arguments: "" });
      for (const delta of piecesOf(one.input, answered))
        events.push({ type: "response.function_call_arguments.delta", ...of, delta });
      return done({ ...call, arguments: one.input });
    }
    if (one.kind === "text") {
      added({ type: "message", content: [] });
      return done({ type: "message", content: [partOf("output_text", "output_text", one.text)] });
    }
    added({ type: "reasoning", summary: [] });
    const content = [one.text, "More."].map((words) => partOf("reasoning_text", "reasoning_text", words));
    return done({ type: "reasoning", summary: [], content });
  });
  const whole = { id: "r", status: "completed", output, usage };
  events.push({ type: "response.completed", response: whole });
  return { whole: JSON.stringify(whole), events: events.map((event) => JSON.stringify(event)) };
}

/** A message of Anthropic. */
export function messageOf(answered: RandomAnswer): WrittenAnswer {
  const usage = { input_tokens: 9, output_tokens: 7 };
  const stop_reason = callsOf(answered.items).length > 0 ? "tool_use" : "end_turn";
  const events: object[] = [
    { type: "message_start", message: { content: [], usage: { ...usage, output_tokens: 1 } } },
  ];
  const content = answered.items.map((one, index) => {
    const add = (start: object, pieces: readonly object[]) =>
      events.push(
        { type: "content_block_start", index, content_block: start },
        ...pieces.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      );
    if (one.kind === "call") {
      const { id, name, input } = one;
      const called = { type: "tool_use", id, name };
      const deltas = piecesOf(input, answered).map((piece) => ({
        type: "input_json_delta",
        partial_json: piece,
      }));
      add({ ...called, input: {} }, deltas);
      return { ...called, input: JSON.parse(input) };
    }
    const pieces = piecesOf(one.text, answered);
    if (one.kind === "text") {
      const deltas = pieces.map((piece) => ({ type: "text_delta", text: piece }));
      add({ type: "text", text: "" }, deltas);
      return { type: "text", text: one.text };
    }
    const signature = { type: "signature_delta", signature: "proof" };
    const deltas = pieces.map((piece) => ({ type: "thinking_delta", thinking: piece }));
    add({ type: "thinking", thinking: "", signature: "" }, [...deltas, signature]);
    return { type: "thinking", thinking: one.text, signature: "proof" };
  });
  events.push({ type: "message_delta", delta: { stop_reason }, usage }, { type: "message_stop" });
  const whole = { type: "message", content, stop_reason, usage };
  return { whole: JSON.stringify(whole), events: events.map((event) => JSON.stringify(event)) };
}

/** An answer of Google. */
export function contentOf(answered: RandomAnswer): WrittenAnswer {
  const end = {
    finishReason: "STOP",
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 7, totalTokenCount: 16 },
  };
  const written = (parts: readonly object[], { finishReason, usageMetadata }: Partial<typeof end>) =>
    JSON.stringify({ candidates: [{ content: { role: "model", parts }, finishReason }], usageMetadata });
  const partsOf = (one: Item, pieces: (whole: string) => readonly string[]): object[] => {
    if (one.kind !== "call")
      return pieces(one.text).map((piece) => ({ text: piece, thought: one.kind === "thought" || undefined }));
    return [{ functionCall: { id: one.id, name: one.name, args: JSON.parse(one.input) } }];
  };
  const streamed = answered.items.flatMap((one) => partsOf(one, (whole) => piecesOf(whole, answered)));
  return {
    whole: written(
      answered.items.flatMap((one) => partsOf(one, (whole) => [whole])),
      end,
    ),
    events: [...streamed.map((part) => written([part], {})), written([], end)],
  };
}
