import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { chatUsageOf } from "../../conversation/chat-format.ts";
import { isJsonObject, type Json } from "../../json/json.ts";
import { type Changes, JsonBody } from "../../json/json-body.ts";
import { producedBy, type Usage } from "../../tokens/token-estimate.ts";
import { answerText } from "../answer-body.ts";
import type {
  ConversationAnswer,
  ConversationCall,
  Dialect,
  DialectDefinition,
  ForwardCall,
  UpstreamCall,
  WholeAnswer,
} from "../dialect.ts";
import { asksForBase64, base64Of, isVector } from "../embedding-encoding.ts";
import { sendInForms } from "../form-changes.ts";
import { postWithBearer } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import { malformedResponse, refusalOf } from "../refusal.ts";
import { RefusedForms } from "../refused-forms.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { begunAnswer } from "../whole-for-stream.ts";
import { written } from "../write-conversation.ts";
import { CompletionReader } from "./answer-events.ts";
import { shortCallId, withCallIds } from "./call-ids.ts";
import { chatFormChanges, otherOptions, USUAL_FORM } from "./chat-forms.ts";
import { type ChatForm, chatBodyOf, thinkerOf } from "./conversation-body.ts";
import { hasError, hasFailedChoice, refusedCompletion } from "./failed-completion.ts";
import { hasFailure } from "./finish-reason.ts";
import { callIdsFor, limitOf, MAX_CHAT_CALL_ID_LENGTH } from "./openai-limits.ts";
import { streamedAnswer } from "./streamed-answer.ts";
import { withoutThoughts } from "./thought-members.ts";
import { readUsage, readUsageSoFar } from "./usage.ts";

/** Upstreams with OpenAI's wire format. */
export const openai: DialectDefinition = {
  name: "openai",
  settings: UPSTREAM_SETTINGS,
  open: ({ transport, monotonicMs }) => openAiDialect(transport, monotonicMs),
};

export const CHAT_PATH = "/chat/completions";
/** Words by which servers refuse embeddings in base64. */
const ABOUT_ENCODING = /encoding_format|base64/i;

/** OpenRouter's libraries refuse a whole chat completion without it. Some servers write none, and OpenAI's `null` for some models. */
const NO_FINGERPRINT = { system_fingerprint: null } as const;

/**
 * Upstreams with OpenAI's Chat Completions. Only these parts of a chat request are changed: the model's name; usage in streams, which is always
 * requested and removed for clients that did not ask for it; the limit of an answer that is paid for only in part; and ids of calls and thoughts that
 * the upstream refuses, as other models' may be.
 */
export function openAiDialect(transport: Transport, monotonicMs: () => number): Dialect {
  const changes = chatFormChanges(monotonicMs);
  return {
    own: {
      wire: "chat",
      forward: async (call) => {
        const textOf = (form: ChatForm) => forwardedBody(call, form);
        const response = await sendInForms(call, changes, {
          usual: USUAL_FORM,
          textOf,
          send: (form) => postWithBearer(transport, call, CHAT_PATH, textOf(form)),
        });
        if (!call.request.stream) {
          const text = answerText(response);
          return wholeAnswer(call, text instanceof Promise ? await text : text, "choices");
        }
        const begun = await begunAnswer(response);
        return begun.isWhole
          ? wholeForStream(call, begun.response)
          : streamedAnswer(call, begun.response.body);
      },
    },
    converse: (call) =>
      sendInForms(call, changes, {
        usual: USUAL_FORM,
        textOf: (form) => written(() => chatBodyOf(call, form)).text,
        send: (form) => converse(transport, call, form),
      }),
    embed: embedderOf(transport, monotonicMs),
  };
}

async function converse(
  transport: Transport,
  call: ConversationCall,
  form: ChatForm,
): Promise<ConversationAnswer> {
  const { answered, ignored } = postChat(transport, call, form);
  const reader = new CompletionReader(thinkerOf(call));
  return readAnswer(await answered, { stream: call.stream, reader, ignored });
}

/** Not a part of {@link converse}, whose variables stay in memory until the answer comes: the text that is sent must not. */
function postChat(transport: Transport, call: ConversationCall, form: ChatForm) {
  const { ignored, text } = written(() => chatBodyOf(call, form));
  return { answered: postWithBearer(transport, call, CHAT_PATH, text), ignored };
}

/** A whole answer in the place of a stream. @throws {UpstreamRefused} for several choices, which are not written as a stream. */
async function wholeForStream(call: ForwardCall, response: TransportResponse): Promise<ConversationAnswer> {
  const reader = new CompletionReader(thinkerOf(call));
  const answer = await readAnswer(response, { stream: false, reader, ignored: [] });
  if ((call.request.body.value.n ?? 1) !== 1) throw malformedResponse().reporting(reader.usageSoFar);
  return answer;
}

/** Embeds texts as all of OpenAI's servers do. */
export function embedderOf(transport: Transport, monotonicMs: () => number): Dialect["embed"] {
  const encodings = new RefusedForms(ABOUT_ENCODING, monotonicMs);
  return (call) => {
    const isBase64 = asksForBase64(call.body.value);
    const ask = async (changes: Changes) => {
      const asked = call.body.textWith({ model: call.upstreamModel, ...changes });
      const response = await postWithBearer(transport, call, "/embeddings", asked);
      return wholeAnswer(call, await answerText(response), "data", isBase64 ? inBase64 : undefined);
    };
    if (!isBase64) return ask({});
    return encodings.ask(call, {
      send: (form) => ask(form === "usual" ? {} : { encoding_format: "float" }),
      clientText: () => call.body.textWith({ encoding_format: undefined }),
    });
  };
}

/**
 * Embeddings in base64. Servers such as LM Studio's and Mistral's write numbers all the same, which libraries of OpenAI's decode to
 * vectors of zeros.
 */
function inBase64(data: readonly Json[]): readonly Json[] {
  if (!data.some(hasVector)) return data;
  return data.map((item) => (hasVector(item) ? { ...item, embedding: base64Of(item.embedding) } : item));
}

function hasVector(item: Json): item is { readonly embedding: readonly number[] } {
  return isJsonObject(item) && isVector(item.embedding);
}

/**
 * @param member The list that an answer must have.
 * @param edit Changes the list for the client. By default it stays as it is.
 */
function wholeAnswer(
  call: UpstreamCall,
  text: string,
  member: "choices" | "data",
  edit: (results: readonly Json[]) => readonly Json[] = (results) => results,
): WholeAnswer {
  const body = JsonBody.parse(text);
  if (body === null) throw malformedResponse();
  const { value } = body;
  const results = value[member];
  const isAnswer = Array.isArray(results) && results.length > 0 && !hasFailedChoice(value);
  if (!isAnswer) {
    if (hasError(value)) throw refusedCompletion(value, text);
    throw malformedResponse().reporting(readUsageSoFar(value.usage));
  }
  if (hasFailure(value.choices)) throw refusalOf(500, "").reporting(readUsageSoFar(value.usage));
  return {
    kind: "whole",
    body: body.textWith({
      model: call.publicModel,
      [member]: edit(results),
      ...(member === "choices" && value.system_fingerprint === undefined ? NO_FINGERPRINT : {}),
    }),
    usage: member === "choices" ? readUsage(value.usage) : readUsageSoFar(value.usage),
    ...(member === "choices" && { estimated: (counted: Usage) => ({ usage: chatUsageOf(counted) }) }),
    produced: () => producedBy(value.choices),
    ignored: [],
  };
}

function forwardedBody(
  { request, upstream, upstreamModel }: ForwardCall,
  { asksUsage, keepsCallIds, thoughts }: ChatForm,
): string {
  const { body, ownLimit = null, stream } = request;
  const { messages } = body.value;
  const callId = keepsCallIds ? callIdsFor(upstream, MAX_CHAT_CALL_ID_LENGTH) : shortCallId;
  const kept = thoughts === "none" ? withoutThoughts(messages) : messages;
  const sent = callId === null ? kept : withCallIds(kept, callId);
  const changes = {
    model: upstreamModel,
    ...(ownLimit === null ? {} : limitOf(upstream, ownLimit)),
    ...(sent === messages ? {} : { messages: sent }),
  };
  if (!stream) return body.textWith(changes);
  const others = otherOptions(body);
  const options = asksUsage ? { ...others, include_usage: true } : others;
  const isEmpty = Object.keys(options).length === 0;
  return body.textWith({ ...changes, stream_options: isEmpty ? undefined : options });
}
