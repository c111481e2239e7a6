import { isJsonObject } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";
import { producedBy } from "../../tokens/token-estimate.ts";
import type {
  ConversationAnswer,
  ConversationCall,
  Dialect,
  EmbedCall,
  ForwardCall,
  UpstreamCall,
  WholeAnswer,
  WireAnswer,
} from "../dialect.ts";
import { withOptionalReasoning } from "../optional-reasoning.ts";
import { answerText, bearerOf, eventDataOf, postJson } from "../post-json.ts";
import { malformedResponse } from "../refusal.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { eventsOfCompletion, eventsOfStream } from "./answer-events.ts";
import { chatBodyOf } from "./conversation-body.ts";
import { streamedAnswer } from "./streamed-answer.ts";
import { readUsage } from "./usage.ts";

/**
 * Upstreams with OpenAI's Chat Completions. Of a chat request only two things change: the model's name, and usage in streams, which
 * is always requested and removed for clients that did not ask for it.
 */
export function openAiDialect(transport: Transport): Dialect {
  return {
    own: { wire: "chat", forward: (call) => forward(transport, call) },
    converse: (call) => withOptionalReasoning(call, (asked) => converse(transport, asked)),
    embed: (call) => embed(transport, call),
  };
}

async function forward(transport: Transport, call: ForwardCall): Promise<WireAnswer> {
  const response = await post(transport, call, "/chat/completions", forwardedBody(call));
  if (call.request.stream) return streamedAnswer(call, response.body);
  return wholeAnswer(call, await answerText(response), "choices");
}

async function converse(transport: Transport, call: ConversationCall): Promise<ConversationAnswer> {
  const { body, ignored } = chatBodyOf(call);
  const response = await post(transport, call, "/chat/completions", JSON.stringify(body));
  const events = call.stream
    ? eventsOfStream(eventDataOf(response.body))
    : [eventsOfCompletion(await answerText(response))];
  return { events, ignored: () => ignored };
}

/** Embeds texts as all of OpenAI's servers do. @throws as {@link Dialect.embed}. */
export async function embed(transport: Transport, call: EmbedCall): Promise<WholeAnswer> {
  const asked = call.body.textWith({ model: call.upstreamModel });
  return wholeAnswer(call, await answerText(await post(transport, call, "/embeddings", asked)), "data");
}

function post(
  transport: Transport,
  call: UpstreamCall,
  path: string,
  body: string,
): Promise<TransportResponse> {
  return postJson(transport, call, { path, headers: bearerOf(call), body });
}

/** `results`: the member that an answer must have. */
function wholeAnswer(call: UpstreamCall, text: string, results: "choices" | "data"): WholeAnswer {
  const body = JsonBody.parse(text);
  if (body === null || !Array.isArray(body.value[results])) throw malformedResponse();
  return {
    kind: "whole",
    body: body.textWith({ model: call.publicModel }),
    usage: readUsage(body.value.usage),
    produced: () => producedBy(body.value.choices),
    ignored: [],
  };
}

function forwardedBody({ request: { body, stream }, upstreamModel }: ForwardCall): string {
  if (!stream) return body.textWith({ model: upstreamModel });
  const { stream_options: asked } = body.value;
  const options = isJsonObject(asked) ? asked : {};
  return body.textWith({ model: upstreamModel, stream_options: { ...options, include_usage: true } });
}
