import * as z from "zod";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { objectOf } from "../../json/members.ts";
import { REASONING_MODEL, reasoningOf, type SandboxReasoning } from "./reasoning.ts";
import { invalidField, refusalOfInput } from "./refusal.ts";

/** Each piece of a text is compared with what of a stop sequence may have begun. */
const MAX_STOP_LENGTH = 1_000;
const tokenLimit = z.number().int().min(1).max(100_000_000).nullish();
const schema = z.custom<JsonObject>(isJsonObject, "must be a JSON schema object");

const tool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({ name: z.string().min(1).max(64), parameters: schema.optional() }),
});

const functionChoice = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({ name: z.string() }),
});

const allowedTools = z.looseObject({
  type: z.literal("allowed_tools"),
  allowed_tools: z.looseObject({
    mode: z.enum(["auto", "required"]),
    // A schema of the tools would report each wrong one, and a body may have millions of them.
    tools: z.custom<readonly { readonly function: { readonly name: string } }[]>(areNamed),
  }),
});

function areNamed(tools: unknown): boolean {
  return Array.isArray(tools) && tools.every(isNamed);
}

function isNamed(tool: unknown): boolean {
  return isJsonObject(tool) && isJsonObject(tool.function) && typeof tool.function.name === "string";
}

const chat = z.looseObject({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown().optional() })).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.number().int().min(1).max(16).nullish(),
  max_tokens: tokenLimit,
  max_completion_tokens: tokenLimit,
  stop: z
    .union(
      [z.string(), z.array(z.string()).max(4)],
      "must be a text, or an array of up to 4 texts, for sandbox models",
    )
    .nullish(),
  seed: z.number().multipleOf(1).nullish(),
  reasoning_effort: z.string().nullish(),
  tools: z.array(tool).max(128).nullish(),
  tool_choice: z
    .union(
      [z.enum(["none", "auto", "required"]), functionChoice, allowedTools],
      "must be none, auto, required, a function or allowed_tools for sandbox models",
    )
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z
    .union(
      [
        z.looseObject({ type: z.enum(["text", "json_object"]) }),
        z.looseObject({ type: z.literal("json_schema"), json_schema: z.looseObject({ schema }) }),
      ],
      "must be text, json_object, or json_schema with a schema, for sandbox models",
    )
    .nullish(),
  logprobs: z.literal(false, "is not supported by sandbox models").nullish(),
  audio: z.null("is not supported by sandbox models").optional(),
});

export interface SandboxTool {
  readonly name: string;
  readonly parameters: JsonObject;
}

/** What the sandbox makes of a request. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly choices: number;
  readonly maxTokens: number | null;
  readonly stops: readonly string[];
  readonly seed: number;
  /** `null`: the model does not reason. */
  readonly reasoning: SandboxReasoning | null;
  readonly tools: readonly SandboxTool[];
  readonly toolChoice: "none" | "auto" | "required" | { readonly name: string };
  readonly parallelToolCalls: boolean;
  readonly format: { readonly kind: "text" } | { readonly kind: "json"; readonly schema: JsonObject };
}

/** @throws {SandboxRefusal} naming the field that is wrong. */
export function readChatRequest(body: unknown): ChatRequest {
  const parsed = chat.safeParse(body);
  if (!parsed.success) throw refusalOfInput(parsed.error);
  const raw = parsed.data;
  const stops = [raw.stop ?? []].flat().filter((stop) => stop !== "");
  if (stops.some((stop) => stop.length > MAX_STOP_LENGTH)) {
    throw invalidField("stop", `must have at most ${MAX_STOP_LENGTH} characters for sandbox models`);
  }
  const offered = (raw.tools ?? []).map(({ function: { name, parameters } }) => ({
    name,
    parameters: parameters ?? {},
  }));
  const { tools, toolChoice } = allowedOf(raw.tool_choice, offered);
  return {
    model: raw.model,
    messages: raw.messages.map(({ role, content }) => ({ role, text: textOf(content) })),
    stream: raw.stream === true,
    includeUsage: raw.stream_options?.include_usage === true,
    choices: raw.n ?? 1,
    maxTokens: raw.max_completion_tokens ?? raw.max_tokens ?? null,
    stops,
    seed: raw.seed ?? 0,
    reasoning: raw.model === REASONING_MODEL ? reasoningOf(raw) : null,
    tools,
    toolChoice,
    parallelToolCalls: raw.parallel_tool_calls !== false,
    format: formatOf(raw.response_format),
  };
}

/** The tools that the client allows the model to call, and which of them it must call. */
function allowedOf(
  choice: z.output<typeof chat>["tool_choice"],
  tools: readonly SandboxTool[],
): Pick<ChatRequest, "tools" | "toolChoice"> {
  if (typeof choice !== "object" || choice?.type !== "allowed_tools") {
    return { tools, toolChoice: toolChoiceOf(choice, tools) };
  }
  const { mode, tools: allowed } = choice.allowed_tools;
  const names = new Set(allowed.map((one) => one.function.name));
  const kept = tools.filter(({ name }) => names.has(name));
  if (kept.length === 0) throw invalidField("tool_choice", "allowed_tools must name some of the tools");
  return { tools: kept, toolChoice: mode };
}

function toolChoiceOf(
  choice: Exclude<z.output<typeof chat>["tool_choice"], z.output<typeof allowedTools>>,
  tools: readonly SandboxTool[],
): ChatRequest["toolChoice"] {
  if (choice === "required" && tools.length === 0) {
    throw invalidField("tool_choice", "needs tools");
  }
  if (typeof choice !== "object" || choice === null) return choice ?? "auto";
  const { name } = choice.function;
  if (!tools.some((candidate) => candidate.name === name)) {
    throw invalidField("tool_choice", "names none of the tools");
  }
  return { name };
}

function formatOf(format: z.output<typeof chat>["response_format"]): ChatRequest["format"] {
  if (format?.type === "json_schema" && isJsonObject(format.json_schema)) {
    const { schema: requested } = format.json_schema;
    return { kind: "json", schema: objectOf(requested) };
  }
  return format?.type === "json_object" ? { kind: "json", schema: { type: "object" } } : { kind: "text" };
}

/** The text of a message. Its parts are joined, and parts without text are named in brackets. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map(partText).join(" ");
}

function partText(part: Json): string {
  if (!isJsonObject(part)) return "";
  if (typeof part.text === "string") return part.text;
  return typeof part.type === "string" ? `[${part.type.replace(/^input_|_url$/g, "")}]` : "";
}
