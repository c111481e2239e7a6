import { createHash } from "node:crypto";
import { objectOf } from "../../json/members.ts";
import type { ChatRequest, SandboxTool } from "./chat-request.ts";
import { REASONING_MODEL } from "./reasoning.ts";
import { invalidField } from "./refusal.ts";
import { instanceOf } from "./schema-instance.ts";
import { echo, lorem, type TextPieces, untilStop, upTo } from "./text.ts";

/** What one choice of an answer consists of. */
export type Answer = {
  /** What the model thinks first, in tokens; empty for models without reasoning. */
  readonly thoughts: readonly string[];
  /** Whether the client sees the thoughts. */
  readonly showsThoughts: boolean;
} & (
  | { readonly kind: "text"; readonly pieces: TextPieces }
  | { readonly kind: "calls"; readonly calls: readonly ToolCall[] }
);

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

const MODELS: readonly string[] = ["echo", "lorem", REASONING_MODEL];
const LOREM_TOKENS = 64;
/** The maximum of an answer that is not streamed. A streamed answer may be as long as requested. */
const MAX_WHOLE_TOKENS = 16_384;

/** The characters of the inputs of all calls together. */
const MAX_INPUT_CHARACTERS = 1_000_000;
/** The characters at each end of the last message in which a tool is named. */
const SEARCHED = 8_192;

/**
 * Decides on the answer of each choice, by the request alone. What they have in common is made once.
 *
 * @throws {SandboxRefusal} the model does not chat.
 */
export function answersTo(request: ChatRequest): readonly Answer[] {
  if (!MODELS.includes(request.model)) {
    throw invalidField("model", `does not chat. The sandbox models that do are ${MODELS.join(", ")}`);
  }
  const thoughts = thoughtsOn(request);
  const showsThoughts = request.reasoning?.isHidden !== true;
  const calls = callsOf(request);
  const text = textOf(request);
  const limit = request.stream
    ? request.maxTokens
    : Math.min(request.maxTokens ?? MAX_WHOLE_TOKENS, MAX_WHOLE_TOKENS);
  const rest = limit === null ? null : Math.max(0, limit - thoughts.length);
  return Array.from({ length: request.choices }, (_, choice) =>
    calls.length > 0
      ? { kind: "calls", thoughts, showsThoughts, calls }
      : { kind: "text", thoughts, showsThoughts, pieces: untilStop(request.stops, upTo(rest, text(choice))) },
  );
}

/** What the model `reasoning` thinks before it answers. As with other models, its tokens are of the completion and count for its limit. */
function thoughtsOn({ reasoning, maxTokens, messages }: ChatRequest): readonly string[] {
  if (reasoning === null) return [];
  const max = Math.min(reasoning.maxTokens, maxTokens ?? reasoning.maxTokens);
  return [...upTo(max, thoughtsAbout(lastUserText(messages)))];
}

function* thoughtsAbout(text: string): TextPieces {
  yield* echo(`The user wrote: ${text}\n\nI repeat it, because that is all a sandbox model can do.\n\n`);
  return yield* lorem(text.length);
}

/** @returns the text of a choice. Only those of `lorem` differ. */
function textOf({ messages, format, model, maxTokens, seed }: ChatRequest): (choice: number) => TextPieces {
  const last = messages.at(-1);
  const said = lastUserText(messages);
  if (format.kind === "json") {
    const json = JSON.stringify(instanceOf(format.schema, said));
    return () => echo(json);
  }
  if (last?.role === "tool") return () => echo(`The tool answered: ${last.text}`);
  if (model !== "lorem") return () => echo(said);
  const hash = createHash("sha256").update(`[${JSON.stringify(messages)},${seed},`);
  return (choice) => {
    const words = lorem(hash.copy().update(`${choice}]`).digest().readUInt32LE());
    return maxTokens === null ? upTo(LOREM_TOKENS, words) : words;
  };
}

/** The text of the last user message, or of the last message if no user wrote one. */
export function lastUserText(messages: ChatRequest["messages"]): string {
  return (messages.findLast((message) => message.role === "user") ?? messages.at(-1))?.text ?? "";
}

/** A tool is called when the choice demands it, or when the user has just named it. */
function toolsCalled(request: ChatRequest): readonly SandboxTool[] {
  const { toolChoice, tools } = request;
  const last = request.messages.at(-1);
  if (toolChoice === "none" || last?.role === "tool") return [];
  if (typeof toolChoice === "object") return tools.filter((tool) => tool.name === toolChoice.name);
  const said = last?.role === "user" ? endsOf(last.text) : "";
  const named = tools.filter((tool) => said.includes(tool.name));
  const called = named.length === 0 && toolChoice === "required" ? tools.slice(0, 1) : named;
  return request.parallelToolCalls ? called : called.slice(0, 1);
}

/** The beginning and the end of a text. To look for a hundred names in all of a long one would take seconds. */
function endsOf(text: string): string {
  if (text.length <= 2 * SEARCHED) return text;
  return `${text.slice(0, SEARCHED)}\n${text.slice(-SEARCHED)}`;
}

function callsOf(request: ChatRequest): readonly ToolCall[] {
  const called = toolsCalled(request);
  if (called.length === 0) return [];
  const hash = createHash("sha256").update(JSON.stringify(request.messages));
  const said = lastUserText(request.messages);
  return called.map((tool, at) => {
    const digest = hash
      .copy()
      .update(JSON.stringify([tool, at]))
      .digest("hex");
    const schema = Object.keys(tool.parameters).length === 0 ? { type: "object" } : tool.parameters;
    const input = instanceOf(schema, said, MAX_INPUT_CHARACTERS / called.length);
    return {
      id: `call_${digest.slice(0, 24)}`,
      name: tool.name,
      // Arguments are an object, whatever the schema says.
      arguments: JSON.stringify(objectOf(input)),
    };
  });
}
