import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { type Changes, JsonBody } from "../../json/json-body.ts";
import { producedBy } from "../../tokens/token-estimate.ts";
import type { Dialect, DialectDefinition, ForwardCall, UpstreamCall, WholeAnswer } from "../dialect.ts";
import { asksForBase64, base64Of, isVector } from "../embedding-encoding.ts";
import { answerText, postWithBearer } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import { isRefusalAbout, malformedResponse } from "../refusal.ts";
import { RefusedForms } from "../refused-forms.ts";
import type { Transport } from "../transport.ts";
import { CompletionReader } from "./answer-events.ts";
import { type ChatForm, chatBodyOf } from "./conversation-body.ts";
import { hasError, refusedCompletion } from "./failed-completion.ts";
import { limitOf } from "./openai-limits.ts";
import { streamedAnswer } from "./streamed-answer.ts";
import { readUsage } from "./usage.ts";

/** Upstreams with OpenAI's wire format. */
export const openai: DialectDefinition = {
  name: "openai",
  settings: UPSTREAM_SETTINGS,
  open: ({ transport }) => openAiDialect(transport),
};

const PATH = "/chat/completions";
/** Words by which servers refuse a model's message without its thought, such as DeepSeek's and Moonshot's, or with it. */
const WITHOUT_THOUGHT =
  /(?:missing|must|require).*reasoning_content|reasoning_content.*(?:missing|must|require)/is;
const WITH_THOUGHT = /reasoning_content/i;
/** Words by which servers refuse to be asked for the usage of a stream. Mistral's tells it unasked. */
const ABOUT_USAGE = /stream_options|include_usage/i;
/**
 * Words by which the templates of models such as Qwen's refuse instructions that are not the first message. Codex sends some in two messages, and
 * later ones.
 */
const ABOUT_SYSTEM = /system message must be|unexpected role\W+system/i;
/** Words by which servers refuse embeddings in base64. */
const ABOUT_ENCODING = /encoding_format|base64/i;

/**
 * Upstreams with OpenAI's Chat Completions. Of a chat request only these change: the model's name; usage in streams, which is always
 * requested and removed for clients that did not ask for it; and the limit of an answer that is paid for only in part.
 */
export function openAiDialect(transport: Transport): Dialect {
  const withoutThought = new RefusedForms(WITHOUT_THOUGHT);
  const withUsage = new RefusedForms(ABOUT_USAGE);
  const withSystems = new RefusedForms(ABOUT_SYSTEM);
  return {
    own: {
      wire: "chat",
      forward: async (call) => {
        const send = (hasUsage: boolean) =>
          postWithBearer(transport, call, PATH, forwardedBody(call, hasUsage));
        if (!call.request.stream) return wholeAnswer(call, await answerText(await send(false)), "choices");
        const { body } = hasOtherOptions(call.request.body)
          ? await send(!withUsage.isRefused(call))
          : await withUsage.ask(call, (isRefused) => send(!isRefused));
        return streamedAnswer(call, body);
      },
    },
    converse: (call) => {
      const post = ({ stream_options: options, ...body }: JsonObject) =>
        withUsage.ask(call, (isRefused) => {
          const asked = isRefused ? body : { ...body, stream_options: options };
          return postWithBearer(transport, call, PATH, JSON.stringify(asked));
        });
      const send = async (form: ChatForm) => {
        const { body, ignored } = chatBodyOf(call, form);
        const response = await post(body);
        const reader = new CompletionReader(call.upstream.name);
        return readAnswer(response, { stream: call.stream, reader, ignored });
      };
      const sendWith = (hasOneSystem: boolean) =>
        withoutThought
          .ask(call, (isNeeded) => send({ thoughts: isNeeded ? "all" : "known", hasOneSystem }))
          // The client may have changed its thoughts: that they are refused says nothing about those of others.
          .catch((thrown: unknown) => {
            if (isRefusalAbout(WITH_THOUGHT, thrown)) return send({ thoughts: "none", hasOneSystem });
            throw thrown;
          });
      return withSystems.ask(call, sendWith);
    },
    embed: embedderOf(transport),
  };
}

/** Embeds texts as all of OpenAI's servers do. */
export function embedderOf(transport: Transport): Dialect["embed"] {
  const encodings = new RefusedForms(ABOUT_ENCODING);
  return (call) => {
    const ask = async (changes: Changes) => {
      const asked = call.body.textWith({ model: call.upstreamModel, ...changes });
      const response = await postWithBearer(transport, call, "/embeddings", asked);
      return wholeAnswer(call, await answerText(response), "data");
    };
    if (!asksForBase64(call.body.value)) return ask({});
    return encodings.ask(call, async (isRefused) => {
      const answer = await ask(isRefused ? { encoding_format: "float" } : {});
      return { ...answer, body: inBase64(answer.body) };
    });
  };
}

/**
 * Embeddings in base64. Servers such as LM Studio's and Mistral's write numbers all the same, which libraries of OpenAI's decode to
 * vectors of zeros.
 */
function inBase64(answer: string): string {
  const body = JsonBody.parse(answer);
  const data = body?.value.data;
  if (body === null || !Array.isArray(data) || !data.some(hasVector)) return answer;
  const encoded = data.map((item: Json) =>
    hasVector(item) ? { ...item, embedding: base64Of(item.embedding) } : item,
  );
  return body.textWith({ data: encoded });
}

function hasVector(item: Json): item is { readonly embedding: readonly number[] } {
  return isJsonObject(item) && isVector(item.embedding);
}

/** `results`: the member that an answer must have. */
function wholeAnswer(call: UpstreamCall, text: string, results: "choices" | "data"): WholeAnswer {
  const body = JsonBody.parse(text);
  if (body === null) throw malformedResponse();
  const { value } = body;
  if (!Array.isArray(value[results]))
    throw hasError(value) ? refusedCompletion(value, text) : malformedResponse();
  return {
    kind: "whole",
    body: body.textWith({ model: call.publicModel }),
    usage: readUsage(value.usage),
    produced: () => producedBy(value.choices),
    ignored: [],
  };
}

/** Whether a client asks for more of a stream than its usage, which may be what an upstream refuses. */
function hasOtherOptions({ value }: JsonBody): boolean {
  const { stream_options: asked } = value;
  return isJsonObject(asked) && Object.keys(asked).some((name) => name !== "include_usage");
}

/** `hasUsage`: whether a stream's usage is asked for. */
function forwardedBody({ request, upstream, upstreamModel }: ForwardCall, hasUsage: boolean): string {
  const { body, ownLimit = null, stream } = request;
  const changes = {
    model: upstreamModel,
    ...(ownLimit === null ? {} : limitOf(upstream, ownLimit)),
  };
  if (!stream) return body.textWith(changes);
  if (!hasUsage) return body.textWith({ ...changes, stream_options: undefined });
  const { stream_options: asked } = body.value;
  const options = isJsonObject(asked) ? asked : {};
  return body.textWith({ ...changes, stream_options: { ...options, include_usage: true } });
}
