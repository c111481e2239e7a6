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
  type WireAnswer,
} from "../dialect.ts";
import { parsedBody } from "../event-json.ts";
import { plainIdentifier } from "../identifiers.ts";
import { type JsonPost, postJson } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import { jsonText, malformedResponse } from "../refusal.ts";
import { RefusedForms } from "../refused-forms.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { askWithThoughts, hasThoughts, withoutThoughts } from "../unreadable-thoughts.ts";
import { begunAnswer } from "../whole-for-stream.ts";
import { written } from "../write-conversation.ts";
import { MessageReader, refusedIn } from "./answer-events.ts";
import { messagesBodyOf } from "./conversation-body.ts";
import { type ForwardedForm, forwardedBody, hasForwardedThoughts, withPlainUser } from "./forwarded-body.ts";
import { hasLateInstructions } from "./late-instructions.ts";
import { streamedMessage } from "./messages-stream.ts";
import { isAnthropicModel } from "./models.ts";
import { LATE_INSTRUCTIONS } from "./prompt.ts";
import { ABOUT_REFERENCES, hasToolReferences } from "./tool-references.ts";
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
/** Words by which other providers' servers refuse an id of the user that is more than a name, as Claude Code's is: DeepSeek's. */
const ABOUT_USER = /\buser_?id\b/i;
/** Words by which Anthropic, and platforms that serve its models, refuse a thought of another provider's model, or one that a client has changed. */
const UNREADABLE = new RegExp(
  [
    String.raw`\binvalid \W?(?:signature|data)\W{1,3}in \W?(?:redacted_)?thinking\b`,
    String.raw`\bthinking\.(?:signature|data)\b`,
    String.raw`\b(?:redacted_)?thinking\W{1,3}blocks\b.{1,80}\bcannot be modified\b`,
  ].join("|"),
  "i",
);
/**
 * Words by which a model, a platform that serves it, or another provider's server refuses instructions within a conversation: those of Anthropic and
 * MiniMax, of DeepSeek and Qwen, of Zhipu, and of templates of models.
 */
const ABOUT_LATE = new RegExp(
  [
    String.raw`\b(?:role|top-level)\W{1,3}system\b`,
    String.raw`\bunknown variant\W{1,3}system\b`,
    String.raw`\bshould be \W?user\W{1,3}or\b`,
    String.raw`\bsystem message must be\b`,
  ].join("|"),
  "i",
);
/** Words by which other providers' servers may mean it, too. Kimi's says only that the request is invalid. */
const MAY_BE_LATE = /\b(?:system|roles?|instructions?|templates?|invalid request)\b/i;

/** How requests are sent, and which forms of them the upstreams of this dialect have refused. */
interface DialectState {
  readonly transport: Transport;
  readonly users: RefusedForms;
  readonly lateInstructions: RefusedForms;
  readonly references: RefusedForms;
}

/**
 * Requests of the Messages API go through as they are, except for the model's name, for an id of the user and references to tools that another
 * provider's server refuses, for thoughts that the upstream refuses to read, and for instructions within the conversation that it refuses. All others
 * are translated.
 */
function anthropicDialect(transport: Transport, monotonicMs: () => number): Dialect {
  const state: DialectState = {
    transport,
    users: new RefusedForms(ABOUT_USER, monotonicMs),
    lateInstructions: new RefusedForms(ABOUT_LATE, monotonicMs),
    references: new RefusedForms(ABOUT_REFERENCES, monotonicMs),
  };
  return {
    own: { wire: "messages", forward: (call) => forward(state, call) },
    converse: (call) => converse(state, call),
    embed: async () => {
      throw cannot("model", "does not support embeddings. Choose another model");
    },
  };
}

/**
 * Forwards a request of the Messages API. It is sent again without thoughts, with a plain id of the user, with texts in place of references to tools,
 * or with all instructions as the user's, if the upstream refuses these.
 */
async function forward(
  { transport, users, lateInstructions, references }: DialectState,
  call: ForwardCall,
): Promise<WireAnswer | ConversationAnswer> {
  const { query = "", headers, stream, body } = call.request;
  const refused = (status: number, text: string) => refusedForward(status, text, call);
  const post = (form: ForwardedForm) =>
    postMessage(transport, call, { query, headers, body: forwardedBody(call, form), refused });
  const sendWithThoughts = (form: Omit<ForwardedForm, "keepsThoughts">) =>
    askWithThoughts(UNREADABLE, {
      send: (keepsThoughts) => post({ ...form, keepsThoughts }),
      hasThoughts: () => hasForwardedThoughts(call),
    });
  const send = (keepsUser: boolean, keepsInstructions: boolean) => {
    const form = { keepsUser, keepsInstructions };
    if (!hasReferences) return sendWithThoughts({ ...form, keepsReferences: true });
    return references.ask(call, {
      send: (keepsReferences) => sendWithThoughts({ ...form, keepsReferences }),
      clientText: () => forwardedBody(call, { ...form, keepsThoughts: true, keepsReferences: false }),
    });
  };
  const { metadata } = body.value;
  const isOwnModel = isAnthropicModel(call.upstreamModel, call.upstream);
  const hasReferences = !isOwnModel && hasToolReferences(body.value);
  const sendWithUser = (keepsInstructions: boolean) =>
    isOwnModel
      ? send(true, keepsInstructions)
      : users.ask(call, {
          send: (keepsUser) => send(keepsUser, keepsInstructions),
          clientText: () => body.textWith({ metadata: undefined }),
          hasOtherForm: () => withPlainUser(metadata) !== metadata,
        });
  const response = hasLateInstructions(body.value)
    ? await lateInstructions.ask(call, {
        send: sendWithUser,
        clientText: () => body.text,
        retriedAfter: isOwnModel ? ABOUT_LATE : MAY_BE_LATE,
      })
    : await sendWithUser(true);
  if (!stream) return wholeMessage(call, await answerText(response));
  const begun = await begunAnswer(response);
  if (!begun.isWhole) return streamedMessage(call, begun.response.body);
  return readAnswer(begun.response, { stream: false, reader: new MessageReader(null), ignored: [] });
}

/**
 * Sends a conversation as a request of the Messages API. It is sent again without thoughts, with a plain id of the user, or with all instructions as
 * the user's, if the upstream refuses these.
 */
async function converse(
  { transport, users, lateInstructions }: DialectState,
  call: ConversationCall,
): Promise<ConversationAnswer> {
  const { user } = call.conversation;
  const post = (keepsUser: boolean, keepsInstructions: boolean, keepsThoughts: boolean) => {
    const asked = keepsThoughts ? call.conversation : withoutThoughts(call.conversation);
    const conversation = keepsUser ? asked : withPlainId(asked);
    const { betas, answerTool, ignored, text } = written(() =>
      messagesBodyOf({ ...call, conversation }, keepsInstructions),
    );
    const headers: Record<string, string> = betas.length === 0 ? {} : { [BETA]: betas.join(",") };
    return {
      answered: postMessage(transport, call, { query: "", headers, body: text }),
      answerTool,
      ignored,
    };
  };
  const send = (keepsUser: boolean, keepsInstructions: boolean) =>
    askWithThoughts(UNREADABLE, {
      send: async (keepsThoughts) => {
        const { answered, answerTool, ignored } = post(keepsUser, keepsInstructions, keepsThoughts);
        const reader = new MessageReader(answerTool);
        return readAnswer(await answered, { stream: call.stream, reader, ignored });
      },
      hasThoughts: () => hasThoughts(call.conversation),
    });
  const clientText = () => written(() => messagesBodyOf(withoutUser(call))).text;
  const isOwnModel = user === null || isAnthropicModel(call.upstreamModel, call.upstream);
  const sendWithUser = (keepsInstructions: boolean) =>
    isOwnModel
      ? send(true, keepsInstructions)
      : users.ask(call, {
          send: (keepsUser) => send(keepsUser, keepsInstructions),
          clientText,
          hasOtherForm: () => withPlainId(call.conversation).user !== user,
        });
  return await lateInstructions.ask(call, {
    send: sendWithUser,
    clientText,
    hasOtherForm: () => messagesBodyOf(call).betas.includes(LATE_INSTRUCTIONS),
  });
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
