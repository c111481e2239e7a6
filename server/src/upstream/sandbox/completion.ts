import { setImmediate } from "node:timers/promises";
import type { JsonObject } from "../../json/json.ts";
import { TransportError } from "../transport.ts";
import type { Answer, ToolCall } from "./answer.ts";
import { countTokens, type FinishReason, type TextPieces, tokensOf } from "./text.ts";

/** What stands at the head of a completion and of each of its chunks. */
interface CompletionHead {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
}

export interface CompletionOptions {
  readonly head: CompletionHead;
  readonly promptTokens: number;
  readonly hasUsage: boolean;
  /** Whether it breaks off after a few words. */
  readonly isCut: boolean;
}

const WORDS_BEFORE_CUT = 3;
/** Other requests get their turn after this many chunks. */
const CHUNKS_AT_ONCE = 64;

/** A whole completion, in OpenAI's shape. */
export function wholeCompletion(answers: readonly Answer[], options: CompletionOptions): JsonObject {
  let completionTokens = 0;
  const choices = answers.map((answer, index) => {
    const { content, tokens, finish } =
      answer.kind === "text"
        ? wholeText(answer.pieces)
        : { content: null, tokens: tokensOfCalls(answer.calls), finish: "tool_calls" };
    completionTokens += answer.thoughts.length + tokens;
    const message = {
      role: "assistant",
      content,
      reasoning_content: (answer.showsThoughts && answer.thoughts.join("")) || undefined,
      tool_calls:
        answer.kind === "calls"
          ? answer.calls.map(({ id, ...called }) => ({ id, type: "function", function: called }))
          : undefined,
      refusal: null,
    };
    return { index, message, logprobs: null, finish_reason: finish };
  });
  const usage = options.hasUsage
    ? usageOf(options.promptTokens, completionTokens, tokensOfThoughts(answers))
    : undefined;
  // OpenRouter's libraries refuse a whole answer without the fingerprint.
  return { ...options.head, object: "chat.completion", system_fingerprint: null, choices, usage };
}

function wholeText(pieces: TextPieces) {
  let content = "";
  let tokens = 0;
  for (;;) {
    const next = pieces.next();
    if (next.done) return { content, tokens, finish: next.value };
    content += next.value;
    tokens++;
  }
}

/** The data of a completion's stream, chunk by chunk, without the closing `[DONE]`. */
export async function* chunksOfCompletion(
  answers: readonly Answer[],
  options: CompletionOptions,
): AsyncGenerator<JsonObject> {
  let completionTokens = 0;
  let chunks = 0;
  const chunk = (index: number, delta: JsonObject, finish: FinishReason | null) => ({
    ...options.head,
    object: "chat.completion.chunk",
    choices: [{ index, delta, logprobs: null, finish_reason: finish }],
  });
  for (const [index, answer] of answers.entries()) {
    yield chunk(index, { role: "assistant", content: answer.kind === "text" ? "" : null }, null);
    for (const deltas = deltasOf(answer); ; ) {
      const next = deltas.next();
      if (next.done) {
        yield chunk(index, {}, next.value);
        break;
      }
      completionTokens += next.value.tokens;
      if (next.value.delta === null) continue;
      yield chunk(index, next.value.delta, null);
      chunks++;
      if (options.isCut && chunks === WORDS_BEFORE_CUT) break;
      if (chunks % CHUNKS_AT_ONCE === 0) await setImmediate();
    }
    if (options.isCut) throw new TransportError("cut", "the sandbox was told to break off");
  }
  if (options.hasUsage) {
    const usage = usageOf(options.promptTokens, completionTokens, tokensOfThoughts(answers));
    yield { ...options.head, object: "chat.completion.chunk", choices: [], usage };
  }
}

/** A delta that the client does not see is `null`. */
function* deltasOf(answer: Answer): Generator<{ delta: JsonObject | null; tokens: number }, FinishReason> {
  for (const thought of answer.thoughts) {
    yield { delta: answer.showsThoughts ? { reasoning_content: thought } : null, tokens: 1 };
  }
  if (answer.kind === "text") {
    for (;;) {
      const next = answer.pieces.next();
      if (next.done) return next.value;
      yield { delta: { content: next.value }, tokens: 1 };
    }
  }
  for (const [index, call] of answer.calls.entries()) {
    const head = { index, id: call.id, type: "function", function: { name: call.name, arguments: "" } };
    yield { delta: { tool_calls: [head] }, tokens: countTokens(call.name) };
    for (const piece of tokensOf(call.arguments)) {
      yield { delta: { tool_calls: [{ index, function: { arguments: piece } }] }, tokens: 1 };
    }
  }
  return "tool_calls";
}

function tokensOfCalls(calls: readonly ToolCall[]): number {
  return calls.reduce((sum, call) => sum + countTokens(call.name) + countTokens(call.arguments), 0);
}

function tokensOfThoughts(answers: readonly Answer[]): number {
  return answers.reduce((sum, { thoughts }) => sum + thoughts.length, 0);
}

function usageOf(promptTokens: number, completionTokens: number, reasoningTokens: number): JsonObject {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}
