import { ENCRYPTED_REASONING } from "../../conversation/response-format.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Changes } from "../../json/json-body.ts";
import { SEALED_TEXT_PREFIX as SEALED_PREFIX } from "../../secrets/sealer.ts";
import type { ForwardCall } from "../dialect.ts";
import { callIdsFor, MAX_RESPONSES_ID_LENGTH } from "../openai/openai-limits.ts";

/** How an upstream gets the ids of calls; `null`: as they are. */
type CallIdForm = ReturnType<typeof callIdsFor>;

/**
 * The body for an upstream. `store: false`, because this service stores responses itself: an upstream would store them for all accounts
 * alike, and another upstream of the same model would not know them. Encrypted reasoning is always asked for, because without it an
 * upstream that stores nothing could not continue a response that this service has stored. Ids of calls that OpenAI refuses, as other servers may give
 * them, are replaced.
 *
 * @param asksForReasoning Whether to ask for it: some upstreams refuse that for models that do not reason.
 */
export function forwardedBody(
  { request: { body }, upstream, upstreamModel }: ForwardCall,
  asksForReasoning: boolean,
): string {
  const { include, input } = body.value;
  const asked = Array.isArray(include) ? include : [];
  const isAdded = asksForReasoning && !asked.includes(ENCRYPTED_REASONING);
  return body.textWith({
    model: upstreamModel,
    store: false,
    ...(isAdded ? { include: [...asked, ENCRYPTED_REASONING] } : {}),
    ...inputChange(input, callIdsFor(upstream, MAX_RESPONSES_ID_LENGTH)),
  });
}

function inputChange(input: Json | undefined, callId: CallIdForm): Changes {
  if (!Array.isArray(input)) return {};
  const kept = input.filter(isReadable);
  const written = kept.map((item: Json) => withOwnCallId(withoutOwnId(item), callId));
  const isSame = kept.length === input.length && written.every((item, index) => item === input[index]);
  return isSame ? {} : { input: written };
}

/** An upstream that stores nothing can't read a thought without its own encrypted content. */
function isReadable(item: Json): boolean {
  if (!isJsonObject(item) || item.type !== "reasoning") return true;
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

function withoutOwnId(item: Json): Json {
  if (!isJsonObject(item) || item.id === undefined || !WITHOUT_ID.has(String(item.type))) return item;
  const { id: _, ...rest }: JsonObject = item;
  return rest;
}

/** A call or its result with ids that the upstream takes. An id of the item itself that is too long says nothing to it. */
function withOwnCallId(item: Json, callId: CallIdForm): Json {
  if (callId === null || !isJsonObject(item) || typeof item.call_id !== "string") return item;
  const { id, ...rest }: JsonObject = item;
  const isLong = typeof id === "string" && id.length > MAX_RESPONSES_ID_LENGTH;
  const own = callId(item.call_id);
  if (!isLong && own === item.call_id) return item;
  return { ...(isLong ? rest : item), call_id: own };
}
