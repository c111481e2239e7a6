import { signatureSealer } from "../../conversation/sealed-signature.ts";
import { EARLY_MESSAGES_SIGNS } from "../../conversation/signs.ts";
import type { WireRequest } from "../../conversation/wire.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import type { JsonBody } from "../../json/json-body.ts";
import type { Sealer } from "../../secrets/sealer.ts";
import type { TokenEstimator, Usage } from "../../tokens/token-estimate.ts";
import { MessagesWriter, type ShownThoughts } from "./messages-writer.ts";
import { promptTextOf } from "./prompt-text.ts";
import { readMessagesConversation } from "./read-messages.ts";

export interface MessagesRequestOptions {
  readonly stream: boolean;
  /** The maximum tokens of the model's answers; `null`: unknown. Clients ask every model for as many as Anthropic's give. */
  readonly maxOutputTokens: number | null;
  /** For an upstream of the same wire. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: string;
  /** Seals what clients carry in thinking blocks, for one account. */
  readonly sealer: { readonly sealer: Sealer; readonly context: string };
  readonly estimator: TokenEstimator;
}

/** A request of the Messages API, as `operations/messages-body.ts` has checked it. */
export function messagesRequest(
  body: JsonBody,
  { stream, maxOutputTokens, headers, query, sealer, estimator }: MessagesRequestOptions,
): WireRequest {
  const { value } = body;
  const signatures = signatureSealer(sealer.sealer, sealer.context);
  return {
    wire: "messages",
    body,
    headers,
    query,
    stream,
    includeUsage: true,
    early: EARLY_MESSAGES_SIGNS,
    conversation: () => {
      const conversation = readMessagesConversation(value, signatures);
      const { maxTokens } = conversation;
      if (maxTokens === null || maxOutputTokens === null) return conversation;
      return { ...conversation, maxTokens: Math.min(maxTokens, maxOutputTokens) };
    },
    promptText: () => promptTextOf(value),
    writer: async (head) => {
      // Clients decide by the count at the beginning of a stream when to shorten a conversation.
      const promptTokens = stream ? await estimator.quickCountOf(promptTextOf(value)) : 0;
      const estimate: Usage = { promptTokens, completionTokens: 0, cachedTokens: 0 };
      return new MessagesWriter(head, { estimate, thoughts: thoughtsOf(value), signatures });
    },
  };
}

/** Thoughts are shown only to clients that have asked for them, as Anthropic does. */
function thoughtsOf({ thinking }: JsonObject): ShownThoughts {
  if (!isJsonObject(thinking) || thinking.type === "disabled") return "hidden";
  return thinking.display === "omitted" ? "omitted" : "shown";
}
