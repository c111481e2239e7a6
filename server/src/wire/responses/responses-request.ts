import { type Conversation, EMPTY_CONVERSATION, type Turn } from "../../conversation/conversation.ts";
import {
  EARLY_RESPONSE_CONTROL_EVENTS,
  ENCRYPTED_REASONING,
  TEXT_LOGPROBS,
} from "../../conversation/response-format.ts";
import type { SignatureSealer } from "../../conversation/sealed-signature.ts";
import type { WireRequest } from "../../conversation/wire.ts";
import type { Json, JsonObject } from "../../json/json.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { arrayOf, numberOf, objectOf, textOf } from "../../json/members.ts";
import { exactValuesIn } from "../exact-values.ts";
import { refuseMisplaced } from "../misplaced-fields.ts";
import {
  COMMON_NAMES,
  commonFieldsOf,
  effortOf,
  formatOf,
  otherFieldsOf,
  textPart,
} from "../openai-fields.ts";
import { otherMembersOf } from "../other-members.ts";
import { requireContent } from "../require-content.ts";
import { addTools, ClientTools, readToolChoice } from "./client-tools.ts";
import { newId } from "./output-items.ts";
import { readItems } from "./read-items.ts";
import { ResponsesWriter } from "./responses-writer.ts";

/** What the Responses API calls the fields of a conversation, where the names differ. */
const NAMES: Conversation["names"] = {
  ...COMMON_NAMES,
  turns: "input",
  maxTokens: "max_output_tokens",
  format: "text.format",
  verbosity: "text.verbosity",
};

/** Codex sends most of these to every model that it does not know. */
const OPTIONAL: Conversation["optional"] = ["parallelToolCalls", "verbosity", "serviceTier", "logprobs"];

/** Fields that a conversation has, that the service decides about, or that say nothing about the answer. */
const READ = new Set([
  "background",
  "client_metadata",
  "conversation",
  "include",
  "input",
  "instructions",
  "max_output_tokens",
  "metadata",
  "model",
  "parallel_tool_calls",
  "previous_response_id",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "service_tier",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "user",
]);

/** Values of other fields that ask for nothing special. */
const NEUTRAL = new Map<string, (value: Json) => boolean>([
  ["truncation", (value) => value === "disabled"],
  ["frequency_penalty", (value) => value === 0],
  ["presence_penalty", (value) => value === 0],
]);

/** The names that Chat Completions have for fields of this API, each with the API's own name. */
const MISPLACED = new Map([
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["response_format", "text.format"],
  ["reasoning_effort", "reasoning.effort"],
  ["verbosity", "text.verbosity"],
]);

/** `generate_summary` is the name that `summary` had first. */
const REASONING_MEMBERS = new Set(["effort", "summary", "generate_summary"]);
const TEXT_MEMBERS = new Set(["format", "verbosity"]);

interface ResponsesOptions {
  readonly stream: boolean;
  /** Whether the response is to be stored. */
  readonly isStored: boolean;
  readonly previousResponseId: string | null;
  /** The number of items of earlier responses that the input begins with. */
  readonly firstOwn: number;
  /** Seals what clients carry with reasoning, for one account. */
  readonly signatures: SignatureSealer;
}

/** A request of the Responses API, as `operations/responses-body.ts` has checked it. References to what is stored are resolved. */
export function responsesRequest(body: JsonBody, options: ResponsesOptions): WireRequest {
  const { stream, isStored, previousResponseId, firstOwn, signatures } = options;
  const owned = {
    // Responses are stored by their ids, and some upstreams give each response the same one.
    ...(isStored ? { id: newId("resp") } : {}),
    store: isStored,
    previous_response_id: previousResponseId,
  };
  let found: ReturnType<typeof readRequest> | null = null;
  const read = () => {
    found ??= readRequest(body, signatures, firstOwn);
    return found;
  };
  return {
    wire: "responses",
    body,
    owned,
    headers: {},
    stream,
    includeUsage: true,
    earlyControlEvents: EARLY_RESPONSE_CONTROL_EVENTS,
    conversation: () => read().conversation,
    writer: (head) =>
      new ResponsesWriter({
        head,
        tools: read().tools,
        body,
        owned,
        isStreamed: stream,
        signatures,
      }),
  };
}

/**
 * Reads a valid request of the Responses API. What only its own upstreams can do is left out and noted, because clients such as Codex
 * always offer hosted tools.
 *
 * @param firstOwn The position of the first item that the request itself has. Those before are of earlier responses.
 * @throws {Failure} `invalid_request` naming what can't be expressed in a conversation.
 */
function readRequest(request: JsonBody, signatures: SignatureSealer, firstOwn: number) {
  const body = request.value;
  refuseMisplaced(body, MISPLACED);
  const exact = exactValuesIn(request);
  const tools = new ClientTools();
  const dropped = addTools(arrayOf(body.tools), "tools", { tools, exact });
  const items = readItems(arrayOf(body.input), { tools, signatures, firstOwn, exact });
  const toolChoice = readToolChoice(body.tool_choice, tools, dropped.length > 0);
  const { input, instructions } = body;
  const turns = [...turnOf("user", input, "input"), ...items.turns];
  requireContent(turns, "input");
  const text = objectOf(body.text);
  const { effort: asked, summary, generate_summary: former } = objectOf(body.reasoning);
  const own = effortOf(asked, "reasoning.effort");
  const effort = items.effort === undefined ? own : items.effort;
  const ownFormat = formatOf(
    text.format,
    "text.format.type",
    { schema: text.format, schemaAt: "text.format" },
    exact,
  );
  const conversation: Conversation = {
    ...EMPTY_CONVERSATION,
    ...commonFieldsOf(body),
    turns: [...turnOf("system", instructions === "" ? null : instructions, "instructions"), ...turns],
    tools: tools.definitions,
    toolChoice,
    maxTokens: numberOf(body.max_output_tokens),
    logprobs: logprobsOf(body),
    format: items.format === undefined ? ownFormat : items.format,
    // A summary alone does not ask for reasoning.
    reasoning:
      effort === null
        ? null
        : { effort, budgetTokens: null, summary: textOf(summary) ?? textOf(former), isOptional: true },
    verbosity: textOf(text.verbosity),
    names: { ...NAMES, logprobs: (numberOf(body.top_logprobs) ?? 0) > 0 ? "top_logprobs" : "include" },
    optional: OPTIONAL,
    ignored: [...ignoredFields(body), ...dropped, ...items.ignored],
  };
  return { conversation, tools };
}

/** Probabilities of tokens are asked for by `include`, or by the number of probable ones. */
function logprobsOf({ include, top_logprobs: top }: JsonObject): number | null {
  const count = numberOf(top) ?? 0;
  return count > 0 || arrayOf(include).includes(TEXT_LOGPROBS) ? count : null;
}

const INCLUDED = new Set<Json>([ENCRYPTED_REASONING, TEXT_LOGPROBS]);

function turnOf(role: "system" | "user", text: Json | undefined, at: string): Turn[] {
  return typeof text === "string" ? [{ role, parts: [textPart(text, at)] }] : [];
}

/** Fields without equivalent elsewhere. None of them changes what the model is asked. */
function ignoredFields(body: JsonObject): readonly string[] {
  const names = otherFieldsOf(body, READ, NEUTRAL).map(([name]) => name);
  const hasOther = arrayOf(body.include).some((value) => !INCLUDED.has(value));
  return [
    ...names,
    ...(hasOther ? ["include"] : []),
    ...otherMembersOf(objectOf(body.reasoning), REASONING_MEMBERS, "reasoning"),
    ...otherMembersOf(objectOf(body.text), TEXT_MEMBERS, "text"),
  ];
}
