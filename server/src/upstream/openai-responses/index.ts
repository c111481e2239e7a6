import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { responseUsageOf } from "../../conversation/response-format.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { arrayOf } from "../../json/members.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import { answerText } from "../answer-body.ts";
import type {
  ConversationAnswer,
  ConversationCall,
  Dialect,
  DialectDefinition,
  ForwardCall,
  UpstreamCall,
  WholeAnswer,
  WireAnswer,
} from "../dialect.ts";
import { parsedBody } from "../event-json.ts";
import { type FormChange, sendInForms } from "../form-changes.ts";
import { embedderOf } from "../openai/index.ts";
import { readUsageOfResponse } from "../openai/usage.ts";
import { postWithBearer } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import { malformedResponse } from "../refusal.ts";
import { RefusedForms } from "../refused-forms.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { withoutThoughts } from "../unreadable-thoughts.ts";
import { begunAnswer } from "../whole-for-stream.ts";
import { written } from "../write-conversation.ts";
import { ENDED, ResponseReader } from "./answer-events.ts";
import { responsesBodyOf } from "./conversation-body.ts";
import { ResponseEditor } from "./edited-response.ts";
import { hasFailed, refusedResponse } from "./failed-response.ts";
import { forwardedBody, type ResponsesForm } from "./forwarded-body.ts";
import { endingAfter } from "./held-failure.ts";
import { streamedResponse } from "./streamed-response.ts";

/** Upstreams with OpenAI's Responses API. */
export const openaiResponses: DialectDefinition = {
  name: "openai-responses",
  settings: UPSTREAM_SETTINGS,
  open: ({ transport, monotonicMs }) => responsesDialect(transport, monotonicMs),
};

const PATH = "/responses";
/** The form of a request of which no upstream is known to refuse a part. */
const USUAL_FORM: ResponsesForm = { asksForReasoning: true, keepsThoughts: true };
/** Words by which an upstream refuses encrypted reasoning for a model that does not reason. */
const ABOUT_ENCRYPTED = /encrypted.content|\binclude\b/i;
/** Words by which OpenAI and Azure refuse encrypted reasoning that another server, or another organization, has been given. */
const UNREADABLE = /\bencrypted content\b.{0,200}?\bcould not be (?:verified|decrypted|parsed)/is;

/**
 * Only what the service decides is changed in a request: the model's name, where responses are stored, and encrypted reasoning. The upstream gets no
 * reasoning that it can't read.
 */
function responsesDialect(transport: Transport, monotonicMs: () => number): Dialect {
  const changes: readonly FormChange<UpstreamCall, ResponsesForm>[] = [
    { words: UNREADABLE, change: { keepsThoughts: false }, memory: null },
    {
      words: ABOUT_ENCRYPTED,
      change: { asksForReasoning: false },
      memory: new RefusedForms(ABOUT_ENCRYPTED, monotonicMs),
    },
  ];
  return {
    own: {
      wire: "responses",
      forward: (call) => {
        const { body } = call.request;
        const textOf = (form: ResponsesForm) => forwardedBody(call, form);
        return sendInForms(call, changes, {
          usual: USUAL_FORM,
          textOf,
          send: (form) => answerOf(call, postWithBearer(transport, call, PATH, textOf(form))),
          clientText: () => body.textWith({ include: undefined }),
        });
      },
    },
    converse: (call) =>
      sendInForms(call, changes, {
        usual: USUAL_FORM,
        textOf: (form) => writtenBody(call, form).text,
        send: (form) => converse(transport, call, form),
      }),
    embed: embedderOf(transport, monotonicMs),
  };
}

async function answerOf(
  call: ForwardCall,
  answered: Promise<TransportResponse>,
): Promise<WireAnswer | ConversationAnswer> {
  const response = await answered;
  if (!call.request.stream) return wholeResponse(call, await answerText(response));
  const begun = await begunAnswer(response);
  if (!begun.isWhole) return streamedResponse(call, begun.response.body);
  return readAnswer(begun.response, { stream: false, reader: new ResponseReader(), ignored: [] });
}

async function converse(
  transport: Transport,
  call: ConversationCall,
  form: ResponsesForm,
): Promise<ConversationAnswer> {
  const { answered, ignored } = postConversation(transport, call, form);
  const response = await answered;
  const reader = new ResponseReader();
  const answer = call.stream ? { ...response, body: endingAfter(reader.failure, response.body) } : response;
  return readAnswer(answer, { stream: call.stream, reader, ignored });
}

/** Not a part of {@link converse}, whose variables stay in memory until the answer comes: the text that is sent must not. */
function postConversation(transport: Transport, call: ConversationCall, form: ResponsesForm) {
  const { ignored, text } = writtenBody(call, form);
  return { answered: postWithBearer(transport, call, PATH, text), ignored };
}

function writtenBody(call: ConversationCall, { asksForReasoning, keepsThoughts }: ResponsesForm) {
  const sent = keepsThoughts ? call : { ...call, conversation: withoutThoughts(call.conversation) };
  return written(() => responsesBodyOf(sent, asksForReasoning));
}

function wholeResponse(call: ForwardCall, text: string): WholeAnswer {
  const response = parsedBody(text);
  const { value } = response;
  if (hasFailed(value)) throw refusedResponse(value);
  if (!Array.isArray(value.output) || !ENDED.has(value.status)) {
    throw malformedResponse().reporting(readUsageOfResponse(value));
  }
  const editor = new ResponseEditor(call);
  return {
    kind: "whole",
    body: editor.edited(response, null),
    usage: readUsageOfResponse(value),
    produced: () => producedIn(value),
    ignored: [],
    stored: () => editor.stored(response, null),
    estimated: (counted) => ({ usage: responseUsageOf(counted) }),
  };
}

/** The text of a response's items. */
function producedIn({ output }: JsonObject): TextTally {
  const tally = new TextTally();
  for (const item of arrayOf(output)) {
    if (!isJsonObject(item)) continue;
    for (const text of [item.name, item.arguments, item.input]) {
      if (typeof text === "string") tally.add(text);
    }
    for (const parts of [item.content, item.summary]) {
      for (const part of arrayOf(parts)) {
        const said = isJsonObject(part) ? (part.text ?? part.refusal) : null;
        if (typeof said === "string") tally.add(said);
      }
    }
  }
  return tally;
}
