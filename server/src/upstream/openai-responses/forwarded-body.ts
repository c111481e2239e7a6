import { ENCRYPTED_REASONING } from "../../conversation/response-format.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Changes } from "../../json/json-body.ts";
import { arrayOf } from "../../json/members.ts";
import { SEALED_TEXT_PREFIX as SEALED_PREFIX } from "../../secrets/sealer.ts";
import type { ForwardCall } from "../dialect.ts";
import { callIdsFor, MAX_RESPONSES_ID_LENGTH } from "../openai/openai-limits.ts";

/** The optional parts of a request that some upstreams refuse. */
export interface ResponsesForm {
  /** Whether encrypted reasoning is asked for, which some upstreams refuse for models that do not reason. */
  readonly asksForReasoning: boolean;
  /**
   * Whether the upstream gets the reasoning of the conversation, which it may be unable to read. Ids of items that belong to that reasoning are left
   * out with it.
   */
  readonly keepsThoughts: boolean;
}

interface InputForm extends Pick<ResponsesForm, "keepsThoughts"> {
  /** How the upstream gets the ids of calls; `null`: as they are. */
  readonly callId: ReturnType<typeof callIdsFor>;
}

/**
 * The body for an upstream. `store: false`, because this service stores responses itself: an upstream would store them for all accounts
 * alike, and another upstream of the same model would not know them. Encrypted reasoning is always asked for, because without it an
 * upstream that stores nothing could not continue a response that this service has stored. Ids of calls that OpenAI refuses, as other servers may give
 * them, are replaced.
 */
export function forwardedBody(
  { request: { body }, upstream, upstreamModel }: ForwardCall,
  { asksForReasoning, keepsThoughts }: ResponsesForm,
): string {
  const { include, input } = body.value;
  const asked = arrayOf(include);
  const isAdded = asksForReasoning && !asked.includes(ENCRYPTED_REASONING);
  return body.textWith({
    model: upstreamModel,
    store: false,
    ...(isAdded ? { include: [...asked, ENCRYPTED_REASONING] } : {}),
    ...inputChange(input, { keepsThoughts, callId: callIdsFor(upstream, MAX_RESPONSES_ID_LENGTH) }),
  });
}

function inputChange(input: Json | undefined, { keepsThoughts, callId }: InputForm): Changes {
  if (!Array.isArray(input)) return {};
  const readable = input.filter(isReadable);
  const kept = keepsThoughts ? readable : readable.filter(isNoThought);
  const withoutIds = kept.length === readable.length ? WITHOUT_ID : WITHOUT_ID_OR_THOUGHT;
  const written = kept.map((item: Json) => withOwnCallId(withoutOwnId(item, withoutIds), callId));
  const isSame = kept.length === input.length && written.every((item, index) => item === input[index]);
  return isSame ? {} : { input: written };
}

function isNoThought(item: Json): boolean {
  return !isJsonObject(item) || item.type !== "reasoning";
}

/** An upstream that stores nothing can't read a thought without its own encrypted content. */
function isReadable(item: Json): boolean {
  if (!isJsonObject(item) || isNoThought(item)) return true;
  const { encrypted_content: encrypted } = item;
  return typeof encrypted === "string" && !encrypted.startsWith(SEALED_PREFIX);
}

/** Types of items whose ids say nothing to an upstream that stores nothing. Upstreams refuse ids that they would not give. */
const WITHOUT_ID = new Set([
  "message",
  "function_call_output",
  "custom_tool_call_output",
  "tool_search_output",
  "additional_tools",
]);

/** As {@link WITHOUT_ID}, for a conversation without its reasoning: the ids of calls say which reasoning they need. */
const WITHOUT_ID_OR_THOUGHT = new Set([...WITHOUT_ID, "function_call", "custom_tool_call"]);

function withoutOwnId(item: Json, types: ReadonlySet<string>): Json {
  if (!isJsonObject(item) || item.id === undefined || !types.has(String(item.type))) return item;
  const { id: _, ...rest }: JsonObject = item;
  return rest;
}

/** A call or its result with ids that the upstream takes. An id of the item itself that is too long says nothing to it. */
function withOwnCallId(item: Json, callId: InputForm["callId"]): Json {
  if (callId === null || !isJsonObject(item) || typeof item.call_id !== "string") return item;
  const { id, ...rest }: JsonObject = item;
  const isLong = typeof id === "string" && id.length > MAX_RESPONSES_ID_LENGTH;
  const own = callId(item.call_id);
  if (!isLong && own === item.call_id) return item;
  return { ...(isLong ? rest : item), call_id: own };
}
