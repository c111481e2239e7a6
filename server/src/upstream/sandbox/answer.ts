import { createHash } from "node:crypto";
import { isJsonObject } from "../../json/json.ts";
import { type ChatRequest, SandboxRefusal, type SandboxTool } from "./chat-request.ts";
import { instanceOf } from "./schema-instance.ts";
import { echo, lorem, type TextPieces, untilStop, upTo } from "./text.ts";

/** What one choice of an answer consists of. */
export type Answer = {
  /** What the model thinks first, in tokens; empty for models without reasoning. */
  readonly thoughts: readonly string[];
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

const MODELS: readonly string[] = ["echo", "lorem", "reasoning"];
/** How long the model `reasoning` thinks. */
const EFFORT_TOKENS: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["minimal", 8],
  ["low", 24],
  ["medium", 64],
  ["high", 160],
  ["xhigh", 320],
  ["max", 640],
]);
const DEFAULT_EFFORT = "medium";
const LOREM_TOKENS = 64;
/** The maximum of an answer that is not streamed. A streamed answer may be as long as requested. */
const MAX_WHOLE_TOKENS = 16_384;

/**
 * Decides on a choice's answer, by the request alone.
 *
 * @throws {SandboxRefusal} the sandbox has no such model.
 */
export function answerTo(request: ChatRequest, choice: number): Answer {
  if (!MODELS.includes(request.model)) {
    const message = `The sandbox has the models ${MODELS.join(", ")}.`;
    throw new SandboxRefusal(404, "model_not_found", message, "model");
  }
  const thoughts = thoughtsOn(request);
  const called = toolsCalled(request);
  if (called.length > 0) {
    return { kind: "calls", thoughts, calls: called.map((tool, at) => callOf(tool, request, at)) };
  }
  const limit = request.stream
    ? request.maxTokens
    : Math.min(request.maxTokens ?? MAX_WHOLE_TOKENS, MAX_WHOLE_TOKENS);
  const rest = limit === null ? null : Math.max(0, limit - thoughts.length);
  const text = untilStop(request.stops, upTo(rest, textOf(request, choice)));
  return { kind: "text", thoughts, pieces: text };
}

/**
 * What the model `reasoning` thinks before it answers. As with other models, its tokens are of the completion and count for its limit.
 *
 * @throws {SandboxRefusal} the effort is none that there is.
 */
function thoughtsOn(request: ChatRequest): readonly string[] {
  if (request.model !== "reasoning") return [];
  const tokens = EFFORT_TOKENS.get(request.reasoningEffort ?? DEFAULT_EFFORT);
  if (tokens === undefined) {
    const message = `reasoning_effort: must be one of ${[...EFFORT_TOKENS.keys()].join(", ")}`;
    throw new SandboxRefusal(400, "invalid_request", message, "reasoning_effort");
  }
  const max = Math.min(tokens, request.maxTokens ?? tokens);
  return [...upTo(max, thoughtsAbout(lastUserText(request)))];
}

function* thoughtsAbout(text: string): TextPieces {
  yield* echo(`The user wrote: ${text}\n\nI repeat it, because that is all a sandbox model can do.\n\n`);
  return yield* lorem(text.length);
}

function textOf(request: ChatRequest, choice: number): TextPieces {
  const last = request.messages.at(-1);
  if (request.format.kind === "json") {
    return echo(JSON.stringify(instanceOf(request.format.schema, lastUserText(request))));
  }
  if (last?.role === "tool") return echo(`The tool answered: ${last.text}`);
  if (request.model !== "lorem") return echo(lastUserText(request));
  const seed = createHash("sha256")
    .update(JSON.stringify([request.messages, request.seed, choice]))
    .digest()
    .readUInt32LE();
  return request.maxTokens === null ? upTo(LOREM_TOKENS, lorem(seed)) : lorem(seed);
}

/** The text of the last user message, or of the last message if no user wrote one. */
export function lastUserText(request: ChatRequest): string {
  return (
    (request.messages.findLast((message) => message.role === "user") ?? request.messages.at(-1))?.text ?? ""
  );
}

/** A tool is called when the choice demands it, or when the user has just named it. */
function toolsCalled(request: ChatRequest): readonly SandboxTool[] {
  const { toolChoice, tools } = request;
  const last = request.messages.at(-1);
  if (toolChoice === "none" || last?.role === "tool") return [];
  if (typeof toolChoice === "object") return tools.filter((tool) => tool.name === toolChoice.name);
  const named = last?.role === "user" ? tools.filter((tool) => last.text.includes(tool.name)) : [];
  const called = named.length === 0 && toolChoice === "required" ? tools.slice(0, 1) : named;
  return request.parallelToolCalls ? called : called.slice(0, 1);
}

function callOf(tool: SandboxTool, request: ChatRequest, at: number): ToolCall {
  const digest = createHash("sha256")
    .update(JSON.stringify([tool, request.messages, at]))
    .digest("hex");
  const parameters = Object.keys(tool.parameters).length === 0 ? { type: "object" } : tool.parameters;
  const input = instanceOf(parameters, lastUserText(request));
  return {
    id: `call_${digest.slice(0, 24)}`,
    name: tool.name,
    // Arguments are an object, whatever the schema says.
    arguments: JSON.stringify(isJsonObject(input) ? input : {}),
  };
}
