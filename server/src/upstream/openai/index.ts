import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { isJsonObject } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";
import { producedBy } from "../../tokens/token-estimate.ts";
import type {
  Dialect,
  DialectDefinition,
  EmbedCall,
  ForwardCall,
  UpstreamCall,
  WholeAnswer,
} from "../dialect.ts";
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
    embed: (call) => embed(transport, call),
  };
}

/** Embeds texts as all of OpenAI's servers do. @throws as {@link Dialect.embed}. */
export async function embed(transport: Transport, call: EmbedCall): Promise<WholeAnswer> {
  const asked = call.body.textWith({ model: call.upstreamModel });
  const response = await postWithBearer(transport, call, "/embeddings", asked);
  return wholeAnswer(call, await answerText(response), "data");
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
