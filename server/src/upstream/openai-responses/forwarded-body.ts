import { ENCRYPTED_REASONING } from "../../conversation/response-format.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Changes } from "../../json/json-body.ts";
import { SEALED_TEXT_PREFIX as SEALED_PREFIX } from "../../secrets/sealer.ts";
import type { ForwardCall } from "../dialect.ts";

/**
 * The body for an upstream. `store: false`, because this service stores responses itself: an upstream would store them for all accounts
 * alike, and another upstream of the same model would not know them. Encrypted reasoning is always asked for, because without it an
 * upstream that stores nothing could not continue a response that this service has stored.
 *
 * @param asksForReasoning Whether to ask for it: some upstreams refuse that for models that do not reason.
 */
export function forwardedBody(
  { request: { body }, upstreamModel }: ForwardCall,
  asksForReasoning: boolean,
): string {
  const { include, input } = body.value;
  const asked = Array.isArray(include) ? include : [];
  const isAdded = asksForReasoning && !asked.includes(ENCRYPTED_REASONING);
  return body.textWith({
    model: upstreamModel,
    store: false,
    ...(isAdded ? { include: [...asked, ENCRYPTED_REASONING] } : {}),
    ...inputChange(input),
  });
}

function inputChange(input: Json | undefined): Changes {
  if (!Array.isArray(input) || input.every(isPlain)) return {};
  return { input: input.filter(isReadable).map(withoutOwnId) };
}

/** Whether an item can be forwarded as it is. */
function isPlain(item: Json): boolean {
  return isReadable(item) && withoutOwnId(item) === item;
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
