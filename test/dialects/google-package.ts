import { createGoogleGenerativeAI } from "@ai-sdk/google";
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { Conversation, Turn } from "../../server/src/conversation/conversation.ts";
import { choiceOf, given, promptOf, toolsOf } from "./package-call.ts";

const BASE_URL = "https://generativelanguage.googleapis.com/v1beta";

/** A request as the AI SDK's package for Google writes it. */
export interface PackageRequest {
  readonly url: string;
  readonly body: unknown;
}

/** Has the package write a conversation. */
export async function writtenByPackage(
  conversation: Conversation,
  model: string,
  stream: boolean,
): Promise<PackageRequest> {
  const sent: PackageRequest[] = [];
  const answer = JSON.stringify({ candidates: [{ content: { parts: [] }, finishReason: "STOP" }] });
  const options = optionsOf(conversation);
  await answered(stream ? [answer] : answer, { model, options, sent });
  const [request] = sent;
  if (request === undefined) throw new Error("the package has sent nothing");
  return request;
}

/** What the package makes of an answer. */
export interface PackageAnswer {
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly { name: string; input: string; signature: unknown }[];
  readonly finish: LanguageModelV4FinishReason["unified"];
  readonly usage: LanguageModelV4Usage;
}

interface Asked {
  readonly model: string;
  readonly options: LanguageModelV4CallOptions;
  /** What was sent. */
  readonly sent?: PackageRequest[];
}

/** Has the package read an answer. @param json An answer, or the events of a stream. */
export async function answered(
  json: string | readonly string[],
  { model, options, sent = [] }: Asked,
): Promise<PackageAnswer> {
  const respond: typeof fetch = async (url, init) => {
    sent.push({ url: String(url), body: JSON.parse(String(init?.body)) });
    if (typeof json === "string")
      return new Response(json, { headers: { "content-type": "application/json" } });
    const events = json.map((event) => `data: ${event}\r\n\r\n`).join("");
    return new Response(events, { headers: { "content-type": "text/event-stream" } });
  };
  const provider = createGoogleGenerativeAI({ apiKey: "k", baseURL: BASE_URL, fetch: respond });
  const asked = provider.languageModel(model);
  if (typeof json !== "string") return answerOf(await partsOf((await asked.doStream(options)).stream));
  const { content, finishReason, usage } = await asked.doGenerate(options);
  const textOf = (type: "text" | "reasoning") =>
    content.map((part) => (part.type === type && "text" in part ? part.text : "")).join("");
  return {
    text: textOf("text"),
    thoughts: textOf("reasoning"),
    calls: content.flatMap((part) =>
      part.type === "tool-call" && part.providerExecuted !== true ? [callOf(part)] : [],
    ),
    finish: finishReason.unified,
    usage,
  };
}

async function partsOf(stream: ReadableStream<LanguageModelV4StreamPart>) {
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

function answerOf(parts: readonly LanguageModelV4StreamPart[]): PackageAnswer {
  const finish = parts.find((part) => part.type === "finish");
  if (finish === undefined) throw new Error("the stream has no end");
  const textOf = (type: "text-delta" | "reasoning-delta") =>
    parts.map((part) => (part.type === type ? part.delta : "")).join("");
  return {
    text: textOf("text-delta"),
    thoughts: textOf("reasoning-delta"),
    calls: parts.flatMap((part) =>
      part.type === "tool-call" && part.providerExecuted !== true ? [callOf(part)] : [],
    ),
    finish: finish.finishReason.unified,
    usage: finish.usage,
  };
}

function callOf(part: Extract<LanguageModelV4StreamPart, { type: "tool-call" }>) {
  const { toolName: name, input, providerMetadata } = part;
  return { name, input, signature: providerMetadata?.google?.thoughtSignature ?? null };
}

/** A conversation as the package takes it. */
export function optionsOf(conversation: Conversation): LanguageModelV4CallOptions {
  const { tools, toolChoice, format, stop } = conversation;
  const hasTools = tools.length > 0;
  return {
    prompt: promptOf(turnsOf(conversation.turns), "google"),
    ...given("maxOutputTokens", conversation.maxTokens),
    ...given("temperature", conversation.temperature),
    ...given("topP", conversation.topP),
    ...given("topK", conversation.topK),
    ...given("seed", conversation.seed),
    ...given("reasoning", conversation.reasoning?.effort ?? null),
    ...(stop.length === 0 ? {} : { stopSequences: [...stop] }),
    ...(hasTools ? { tools: toolsOf(tools) } : {}),
    ...(hasTools && toolChoice !== null ? { toolChoice: choiceOf(toolChoice) } : {}),
    ...formatOf(format),
    providerOptions: { google: given("thinkingConfig", thinkingOf(conversation)) },
  };
}

function thinkingOf({ reasoning }: Conversation) {
  if (reasoning === null) return null;
  const { effort, budgetTokens, summary } = reasoning;
  const shown = summary === null || effort === "none" ? null : true;
  const config = {
    ...given("includeThoughts", shown),
    ...given("thinkingBudget", effort === null ? budgetTokens : null),
  };
  return Object.keys(config).length === 0 ? null : config;
}

function formatOf(format: Conversation["format"]): Pick<LanguageModelV4CallOptions, "responseFormat"> {
  if (format === null || format.kind === "text") return {};
  if (format.kind === "json") return { responseFormat: { type: "json" } };
  const { schema, name, description } = format;
  const asked = {
    ...given("schema", schema as JSONSchema7 | null),
    ...given("name", name),
    ...given("description", description),
  };
  return { responseFormat: { type: "json", ...asked } };
}

/** The package takes instructions only at the beginning, and the results of calls that were made together as one message. */
function turnsOf(turns: readonly Turn[]): readonly Turn[] {
  const taken: Turn[] = [];
  for (const turn of turns) {
    const last = taken.at(-1);
    if (turn.role === "tool" && last?.role === "tool") {
      taken[taken.length - 1] = { role: "tool", parts: [...last.parts, ...turn.parts] };
    } else if (turn.role === "system" && last !== undefined && last.role !== "system") {
      const text = `<system>\n${turn.parts.map((part) => part.text).join("\n")}\n</system>`;
      taken.push({ role: "user", parts: [{ kind: "text", text, cache: null, at: "" }] });
    } else if (turn.role !== "assistant" || turn.parts.some(isSaid)) {
      taken.push(turn);
    }
  }
  return taken;
}

function isSaid(part: Extract<Turn, { role: "assistant" }>["parts"][number]): boolean {
  return part.kind !== "reasoning" || part.signature?.provider === "google";
}
