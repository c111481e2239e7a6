import { exactJson, mayHaveLongNumber, parseExact } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { SEALED_TEXT_PREFIX } from "../../secrets/sealer.ts";
import type { ForwardCall } from "../dialect.ts";
import { plainIdentifier } from "../identifiers.ts";
import { isAnthropicModel } from "./models.ts";

/**
 * The body for the upstream: the client's, byte for byte, with the upstream's name of the model. Thoughts of other providers' models,
 * which a client has from this service, are left out: Anthropic refuses a thought without its own signature. Other vendors' servers may not
 * sign theirs, and refuse the calls that follow without them.
 *
 * @param keepsUser Whether the id of the user stays as the client sent it. Otherwise it is plain.
 */
export function forwardedBody(
  { request: { body }, upstream, upstreamModel }: ForwardCall,
  keepsUser: boolean,
): string {
  const { messages } = body.value;
  const isForeign = isAnthropicModel(upstreamModel, upstream) ? isUnsignedOrSealed : isSealedThought;
  const hasForeign = Array.isArray(messages) && messages.some((message) => hasThought(message, isForeign));
  const changes = {
    model: upstreamModel,
    ...(keepsUser ? {} : { metadata: withPlainUser(body.value.metadata) }),
  };
  if (!hasForeign) return body.textWith(changes);
  // The inputs of calls keep their numbers.
  const exact = mayHaveLongNumber(body.text) ? parseExact(body.text)?.messages : messages;
  const kept = (Array.isArray(exact) ? exact : messages).flatMap((message: Json) =>
    withoutThoughts(message, isForeign),
  );
  return exactJson(body.textWith({ ...changes, messages: kept }));
}

/** The metadata of a request with an id of the user that every server takes. The same metadata if it has one, or none. */
export function withPlainUser(metadata: Json | undefined): Json | undefined {
  if (!isJsonObject(metadata) || typeof metadata.user_id !== "string") return metadata;
  const plain = plainIdentifier(metadata.user_id);
  return plain === metadata.user_id ? metadata : { ...metadata, user_id: plain };
}

function hasThought(message: Json, isOne: (block: Json) => boolean): boolean {
  return isJsonObject(message) && Array.isArray(message.content) && message.content.some(isOne);
}

function withoutThoughts(message: Json, isOne: (block: Json) => boolean): JsonObject[] {
  if (!isJsonObject(message)) return [];
  if (!hasThought(message, isOne) || !Array.isArray(message.content)) return [message];
  const content = message.content.filter((block: Json) => !isOne(block));
  // Anthropic refuses a message without content, too.
  return content.length === 0 ? [] : [{ ...message, content }];
}

function isUnsignedOrSealed(block: Json): boolean {
  if (!isJsonObject(block)) return false;
  const { type, signature } = block;
  const isUnsigned = type === "thinking" && (typeof signature !== "string" || signature === "");
  return isUnsigned || isSealedThought(block);
}

/** Whether this service has sealed the signature of a thought. */
function isSealedThought(block: Json): boolean {
  if (!isJsonObject(block)) return false;
  const { type, signature, data } = block;
  return (type === "thinking" && isSealed(signature)) || (type === "redacted_thinking" && isSealed(data));
}

function isSealed(value: Json | undefined): boolean {
  return typeof value === "string" && value.startsWith(SEALED_TEXT_PREFIX);
}
