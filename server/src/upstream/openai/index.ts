import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { isJsonObject, type Json } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";
import { producedBy } from "../../tokens/token-estimate.ts";
import type { Dialect, DialectDefinition, ForwardCall, UpstreamCall, WholeAnswer } from "../dialect.ts";
import { asksForBase64, base64Of, isVector } from "../embedding-encoding.ts";
import { answerText, postWithBearer } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import { malformedResponse } from "../refusal.ts";
import { RefusedForms } from "../refused-forms.ts";
import type { Transport } from "../transport.ts";
import { CompletionReader } from "./answer-events.ts";
import { chatBodyOf, type SentThoughts } from "./conversation-body.ts";
import { hasError, refusedCompletion } from "./failed-completion.ts";
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
/** Words by which servers refuse embeddings in base64. */
const ABOUT_ENCODING = /encoding_format|base64/i;

/**
 * Upstreams with OpenAI's Chat Completions. Of a chat request only two things change: the model's name, and usage in streams, which
 * is always requested and removed for clients that did not ask for it.
 */
export function openAiDialect(transport: Transport): Dialect {
  const withoutThought = new RefusedForms(WITHOUT_THOUGHT);
  const withThought = new RefusedForms(WITH_THOUGHT);
  return {
    own: {
      wire: "chat",
      forward: async (call) => {
        const response = await postWithBearer(transport, call, PATH, forwardedBody(call));
        if (call.request.stream) return streamedAnswer(call, response.body);
        return wholeAnswer(call, await answerText(response), "choices");
      },
    },
    converse: (call) => {
      const send = async (thoughts: SentThoughts) => {
        const { body, ignored } = chatBodyOf(call, thoughts);
        const response = await postWithBearer(transport, call, PATH, JSON.stringify(body));
        const reader = new CompletionReader(call.upstream.name);
        return readAnswer(response, { stream: call.stream, reader, ignored });
      };
      return withThought.ask(call, (isRefused) =>
        isRefused ? send("none") : withoutThought.ask(call, (isNeeded) => send(isNeeded ? "all" : "known")),
      );
    },
    embed: embedderOf(transport),
  };
}

/** Embeds texts as all of OpenAI's servers do. */
export function embedderOf(transport: Transport): Dialect["embed"] {
  const encodings = new RefusedForms(ABOUT_ENCODING);
  return (call) =>
    encodings.ask(call, async (isRefused) => {
      const isBase64 = asksForBase64(call.body.value);
      const asked = call.body.textWith({
        model: call.upstreamModel,
        ...(isBase64 && isRefused ? { encoding_format: "float" } : {}),
      });
      const response = await postWithBearer(transport, call, "/embeddings", asked);
      const answer = wholeAnswer(call, await answerText(response), "data");
      return isBase64 ? { ...answer, body: inBase64(answer.body) } : answer;
    });
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

function forwardedBody({ request: { body, stream }, upstreamModel }: ForwardCall): string {
  if (!stream) return body.textWith({ model: upstreamModel });
  const { stream_options: asked } = body.value;
  const options = isJsonObject(asked) ? asked : {};
  return body.textWith({ model: upstreamModel, stream_options: { ...options, include_usage: true } });
}
