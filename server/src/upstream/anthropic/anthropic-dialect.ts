import { cannot } from "../../conversation/conversation.ts";
import type { ConversationAnswer, ConversationCall, Dialect } from "../dialect.ts";
import { writtenBy } from "../expressible.ts";
import { withOptionalReasoning } from "../optional-reasoning.ts";
import { answerText, eventDataOf } from "../post-json.ts";
import type { Transport } from "../transport.ts";
import { eventsOfMessage, eventsOfStream } from "./answer-events.ts";
import { type MessagesBody, messagesBodyOf } from "./conversation-body.ts";
import { messagesWire, postMessage } from "./messages-wire.ts";

/** Anthropic's Messages API: its own requests are forwarded, all others are translated. */
export function anthropicDialect(transport: Transport): Dialect {
  return {
    own: messagesWire(transport),
    converse: (call) => withOptionalReasoning(call, (asked) => converse(transport, asked)),
    embed: async () => {
      throw cannot("model", "does not support embeddings");
    },
  };
}

async function converse(transport: Transport, call: ConversationCall): Promise<ConversationAnswer> {
  const { betas, answerTool, ignored, text } = writtenBy(() => messageOf(call));
  const headers: Record<string, string> = betas.length === 0 ? {} : { "anthropic-beta": betas.join(",") };
  const response = await postMessage(transport, call, { path: "/messages", headers, body: text });
  const events = call.stream
    ? eventsOfStream(eventDataOf(response.body), answerTool)
    : [eventsOfMessage(await answerText(response), answerTool)];
  return { events, ignored: () => ignored };
}

function messageOf(call: ConversationCall): MessagesBody & { readonly text: string } {
  const message = messagesBodyOf(call);
  return { ...message, text: JSON.stringify(message.body) };
}
