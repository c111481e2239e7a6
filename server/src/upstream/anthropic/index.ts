import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { type Conversation, cannot } from "../../conversation/conversation.ts";
import { Failure } from "../../errors/failure.ts";
import { isJsonObject, type Json, parseJsonObject } from "../../json/json.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import { answerText } from "../answer-body.ts";
import { ANTHROPIC_VERSION, anthropicHeaders } from "../credential-headers.ts";
import {
  type ConversationAnswer,
  type ConversationCall,
  type Dialect,
  type DialectDefinition,
  type ForwardCall,
  type UpstreamCall,
  UpstreamRefused,
  type WholeAnswer,
} from "../dialect.ts";
import { parsedBody } from "../event-json.ts";
import { sendInForms } from "../form-changes.ts";
import { plainIdentifier } from "../identifiers.ts";
import { type JsonPost, postJson } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import { jsonText, malformedResponse } from "../refusal.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { withoutThoughts } from "../unreadable-thoughts.ts";
import { begunAnswer } from "../whole-for-stream.ts";
import { written } from "../write-conversation.ts";
import { MessageReader, refusedIn } from "./answer-events.ts";
import { messagesBodyOf } from "./conversation-body.ts";
import { forwardedBody } from "./forwarded-body.ts";
import { type MessagesForm, messageFormChanges, USUAL_FORM } from "./message-forms.ts";
import { streamedMessage } from "./messages-stream.ts";
import { readMessagesUsage } from "./usage.ts";

/** Anthropic's Messages API. */
export const anthropic: DialectDefinition = {
  name: "anthropic",
  settings: { ...UPSTREAM_SETTINGS, baseUrl: UPSTREAM_SETTINGS.baseUrl.optional() },
  open: ({ transport, monotonicMs }) => anthropicDialect(transport, monotonicMs),
};

const DEFAULT_BASE_URL = "https://api.anthropic.com/v1";
const BETA = "anthropic-beta";
const MAX_MESSAGE_LENGTH = 1_000;

/**
 * Requests of the Messages API go through as they are, except for the model's name, for an id of the user and references to tools that another
 * provider's server refuses, for thoughts that the upstream refuses to read, and for instructions within the conversation that it refuses. All others
 * are translated.
 */
function anthropicDialect(transport: Transport, monotonicMs: () => number): Dialect {
  const changesFor = messageFormChanges(monotonicMs);
  return {
    own: {
      wire: "messages",
      forward: async (call) => {
        const { stream, body } = call.request;
        const response = await sendInForms(call, changesFor(call), {
          usual: USUAL_FORM,
          textOf: (form) => forwardedBody(call, form),
          send: (form) => forward(transport, call, form),
          clientText: () => body.textWith({ metadata: undefined }),
        });
        if (!stream) return wholeMessage(call, await answerText(response));
        const begun = await begunAnswer(response);
        if (!begun.isWhole) return streamedMessage(call, begun.response.body);
        return readAnswer(begun.response, { stream: false, reader: new MessageReader(null), ignored: [] });
      },
    },
    converse: (call) =>
      sendInForms(call, changesFor(call), {
        usual: USUAL_FORM,
        textOf: (form) => writtenBody(call, form).text,
        send: (form) => converse(transport, call, form),
        clientText: () => writtenBody(withoutUser(call), USUAL_FORM).text,
      }),
    embed: async () => {
      throw cannot("model", "does not support embeddings. Choose another model");
    },
  };
}

function forward(transport: Transport, call: ForwardCall, form: MessagesForm): Promise<TransportResponse> {
  const { query = "", headers } = call.request;
  const refused = (status: number, text: string) => refusedForward(status, text, call);
  return postMessage(transport, call, { query, headers, body: forwardedBody(call, form), refused });
}

async function converse(
  transport: Transport,
  call: ConversationCall,
  form: MessagesForm,
): Promise<ConversationAnswer> {
  const { answered, answerTool, ignored } = postConversation(transport, call, form);
  const reader = new MessageReader(answerTool);
  return readAnswer(await answered, { stream: call.stream, reader, ignored });
}

/** Not a part of {@link converse}, whose variables stay in memory until the answer comes: the text that is sent must not. */
function postConversation(transport: Transport, call: ConversationCall, form: MessagesForm) {
  const { betas, answerTool, ignored, text } = writtenBody(call, form);
  const headers: Record<string, string> = betas.length === 0 ? {} : { [BETA]: betas.join(",") };
  return {
    answered: postMessage(transport, call, { query: "", headers, body: text }),
    answerTool,
    ignored,
  };
}

function writtenBody(call: ConversationCall, { keepsUser, keepsThoughts, keepsInstructions }: MessagesForm) {
  const readable = keepsThoughts ? call.conversation : withoutThoughts(call.conversation);
  const conversation = keepsUser ? readable : withPlainId(readable);
  return written(() => messagesBodyOf({ ...call, conversation }, keepsInstructions));
}

function withPlainId(conversation: Conversation): Conversation {
  const { user } = conversation;
  return user === null ? conversation : { ...conversation, user: plainIdentifier(user) };
}

function withoutUser(call: ConversationCall): ConversationCall {
  return { ...call, conversation: { ...call.conversation, user: null } };
}

interface MessagePost extends Omit<JsonPost, "url" | "headers"> {
  readonly query: string;
  /** The client's, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends a request of the Messages API, with the operator's credential. @throws as {@link postJson}. */
function postMessage(
  transport: Transport,
  call: UpstreamCall,
  { query, headers, ...post }: MessagePost,
): Promise<TransportResponse> {
  const { baseUrl, credential } = call.upstream;
  return postJson(transport, call, {
    ...post,
    url: `${baseUrl || DEFAULT_BASE_URL}/messages${query}`,
    headers: [
      ...Object.entries({ "anthropic-version": ANTHROPIC_VERSION, ...headers }).flat(),
      ...anthropicHeaders(credential),
    ],
  });
}

function refusedForward(
  status: number,
  text: string,
  { request, publicModel }: ForwardCall,
): UpstreamRefused | null {
  if (status === 403 && request.headers[BETA] !== undefined) return refusedBeta();
  return status === 404 ? notFound(text, publicModel) : null;
}

/**
 * A client's beta features may be refused with 403, like the operator's credential. They must not count as its fault, which would
 * keep other accounts from the upstream, nor as a sign that it is valid.
 */
function refusedBeta(): UpstreamRefused {
  const message = `${BETA}: the model's provider refuses the request with these features. Remove the header.`;
  return new UpstreamRefused(404, new Failure("invalid_request", message, { param: BETA }));
}

/**
 * The provider lacks the model, or a file or container that the request names. Clients try again after an `api_error`, and let their
 * user choose another model after a `not_found_error`. Another answer with 404 comes from a server that is not the provider's.
 */
function notFound(text: string, publicModel: string): UpstreamRefused | null {
  const { error } = parseJsonObject(text) ?? {};
  if (!isJsonObject(error) || error.type !== "not_found_error") return null;
  const { message } = error;
  const isModel = typeof message !== "string" || /^model\b/i.test(message);
  const failure = isModel
    ? new Failure("model_not_found", `The provider of ${publicModel} does not have it. Choose another model.`)
    : new Failure("not_found", message.slice(0, MAX_MESSAGE_LENGTH));
  return new UpstreamRefused(404, failure);
}

function wholeMessage({ publicModel }: ForwardCall, text: string): WholeAnswer {
  const body = parsedBody(text);
  const { content, usage } = body.value;
  if (body.value.type === "error") throw refusedIn(body.value, text);
  if (!Array.isArray(content)) throw malformedResponse().reporting(readMessagesUsage(usage));
  return {
    kind: "whole",
    body: body.textWith({ model: publicModel }),
    usage: readMessagesUsage(usage),
    produced: () => producedBy(content),
    ignored: [],
  };
}

function producedBy(content: readonly Json[]): TextTally {
  const tally = new TextTally();
  for (const block of content) {
    if (!isJsonObject(block)) continue;
    const { text, thinking, name, input } = block;
    for (const value of [text, thinking, name]) if (typeof value === "string") tally.add(value);
    if (isJsonObject(input)) tally.add(jsonText(input));
  }
  return tally;
}
