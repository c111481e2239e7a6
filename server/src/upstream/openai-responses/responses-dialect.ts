import { responseUsageOf } from "../../conversation/response-format.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import type {
  ConversationAnswer,
  ConversationCall,
  Dialect,
  ForwardCall,
  UpstreamCall,
  WholeAnswer,
  WireAnswer,
} from "../dialect.ts";
import { embed } from "../openai/openai-dialect.ts";
import { withOptionalReasoning } from "../optional-reasoning.ts";
import { answerText, bearerOf, eventDataOf, postJson } from "../post-json.ts";
import { malformedResponse } from "../refusal.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { ENDED, eventsOfResponse, eventsOfStream } from "./answer-events.ts";
import { responsesBodyOf } from "./conversation-body.ts";
import { ResponseEditor } from "./edited-response.ts";
import { EncryptedReasoning } from "./encrypted-reasoning.ts";
import { refusedResponse } from "./failed-response.ts";
import { forwardedBody } from "./forwarded-body.ts";
import { streamedResponse } from "./streamed-response.ts";
import { readResponsesUsage } from "./usage.ts";

/**
 * Upstreams with OpenAI's Responses API. Of a request only what the service decides changes: the model's name, where responses are
 * stored, and encrypted reasoning.
 */
export function responsesDialect(transport: Transport): Dialect {
  const reasoning = new EncryptedReasoning();
  return {
    own: {
      wire: "responses",
      forward: (call) => reasoning.ask(call, (isAsked) => forward(transport, call, isAsked)),
    },
    converse: (call) =>
      withOptionalReasoning(call, (asked) =>
        reasoning.ask(asked, (isAsked) => converse(transport, asked, isAsked)),
      ),
    embed: (call) => embed(transport, call),
  };
}

async function forward(transport: Transport, call: ForwardCall, isAsked: boolean): Promise<WireAnswer> {
  const response = await post(transport, call, forwardedBody(call, isAsked));
  if (call.request.stream) return streamedResponse(call, response.body);
  return wholeResponse(call, await answerText(response));
}

async function converse(
  transport: Transport,
  call: ConversationCall,
  isAsked: boolean,
): Promise<ConversationAnswer> {
  const { body, ignored } = responsesBodyOf(call, isAsked);
  const response = await post(transport, call, JSON.stringify(body));
  const events = call.stream
    ? eventsOfStream(eventDataOf(response.body))
    : [eventsOfResponse(await answerText(response))];
  return { events, ignored: () => ignored };
}

function post(transport: Transport, call: UpstreamCall, body: string): Promise<TransportResponse> {
  return postJson(transport, call, { path: "/responses", headers: bearerOf(call), body });
}

function wholeResponse(call: ForwardCall, text: string): WholeAnswer {
  const response = JsonBody.parse(text);
  if (response === null) throw malformedResponse();
  const { value } = response;
  if (value.status === "failed" || isJsonObject(value.error)) throw refusedResponse(value);
  if (!Array.isArray(value.output) || !ENDED.has(value.status)) throw malformedResponse();
  const editor = new ResponseEditor(call);
  const usage = readResponsesUsage(value.usage);
  return {
    kind: "whole",
    body: editor.edited(response, null),
    usage,
    produced: () => producedIn(value),
    ignored: [],
    stored: () => editor.stored(response, null),
    estimated: (counted) => ({ usage: responseUsageOf(counted) }),
  };
}

/** The text of a response's items. */
function producedIn({ output }: JsonObject): TextTally {
  const tally = new TextTally();
  for (const item of Array.isArray(output) ? output : []) {
    if (!isJsonObject(item)) continue;
    for (const text of [item.name, item.arguments, item.input]) {
      if (typeof text === "string") tally.add(text);
    }
    for (const parts of [item.content, item.summary]) {
      for (const part of Array.isArray(parts) ? parts : []) {
        const said = isJsonObject(part) ? (part.text ?? part.refusal) : null;
        if (typeof said === "string") tally.add(said);
      }
    }
  }
  return tally;
}
