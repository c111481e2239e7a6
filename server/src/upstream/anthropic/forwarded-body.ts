import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { SEALED_TEXT_PREFIX } from "../../secrets/sealer.ts";
import type { ForwardCall } from "../dialect.ts";

/**
 * The body for the upstream: the client's, byte for byte, with the upstream's name of the model. Thoughts of other providers' models,
 * which a client has from this service, are left out: Anthropic refuses a thought without its own signature.
 */
export function forwardedBody({ request: { body }, upstreamModel }: ForwardCall): string {
  const { messages } = body.value;
  const hasForeign = Array.isArray(messages) && messages.some(hasForeignThought);
  return body.textWith({
    model: upstreamModel,
    ...(hasForeign ? { messages: messages.flatMap(withoutForeignThoughts) } : {}),
  });
}

function hasForeignThought(message: Json): boolean {
  return isJsonObject(message) && Array.isArray(message.content) && message.content.some(isForeignThought);
}

function withoutForeignThoughts(message: Json): JsonObject[] {
  if (!isJsonObject(message)) return [];
  if (!hasForeignThought(message) || !Array.isArray(message.content)) return [message];
  const content = message.content.filter((block: Json) => !isForeignThought(block));
  // Anthropic refuses a message without content, too.
  return content.length === 0 ? [] : [{ ...message, content }];
}

function isForeignThought(block: Json): boolean {
  if (!isJsonObject(block)) return false;
  const { type, signature, data } = block;
  if (type === "thinking") return typeof signature !== "string" || signature === "" || isSealed(signature);
  return type === "redacted_thinking" && isSealed(data);
}

function isSealed(value: Json | undefined): boolean {
  return typeof value === "string" && value.startsWith(SEALED_TEXT_PREFIX);
}
