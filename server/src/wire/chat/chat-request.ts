import { CHAT_SIGNS } from "../../conversation/signs.ts";
import type { WireRequest } from "../../conversation/wire.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { ChatWriter } from "./chat-writer.ts";
import { readChatConversation } from "./read-chat.ts";

/** A chat completion request, as `operations/chat-body.ts` has checked it. */
export function chatRequest(
  body: JsonBody,
  options: { stream: boolean; includeUsage: boolean },
): WireRequest {
  return {
    wire: "chat",
    body,
    headers: {},
    stream: options.stream,
    includeUsage: options.includeUsage,
    early: CHAT_SIGNS,
    conversation: () => readChatConversation(body.value),
    writer: (head) => new ChatWriter(head, options.includeUsage),
  };
}
