import type {
  ConversationAnswer,
  ConversationCall,
  Dialect,
  EmbedCall,
  UpstreamCall,
  WholeAnswer,
} from "../dialect.ts";
import { writtenBy } from "../expressible.ts";
import { withOptionalReasoning } from "../optional-reasoning.ts";
import { answerText, eventDataOf, postJson } from "../post-json.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { eventsOfContent, eventsOfStream } from "./answer-events.ts";
import { type ContentBody, contentBodyOf } from "./conversation-body.ts";
import { embeddingsOf, embedRequestOf } from "./embeddings.ts";
import { modelPath } from "./model-path.ts";

const DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com/v1beta";

/** Google's Gemini API, which is a format of upstreams alone: all requests are translated. */
export function googleDialect(transport: Transport): Dialect {
  return {
    own: null,
    converse: (call) => withOptionalReasoning(call, (asked) => converse(transport, asked)),
    embed: (call) => embed(transport, call),
  };
}

async function converse(transport: Transport, call: ConversationCall): Promise<ConversationAnswer> {
  const { body, answerTool, ignored, text } = writtenBy(() => contentOf(call));
  const method = call.stream ? "streamGenerateContent?alt=sse" : "generateContent";
  const continued = (continuationToken: string) =>
    post(transport, call, method, JSON.stringify({ ...body, continuationToken }));
  const response = await post(transport, call, method, text);
  if (call.stream) {
    const more = async (token: string) => eventDataOf((await continued(token)).body);
    const events = eventsOfStream(eventDataOf(response.body), answerTool, more);
    return { events, ignored: () => ignored };
  }
  const more = async (token: string) => answerText(await continued(token));
  const events = await eventsOfContent(await answerText(response), answerTool, more);
  return { events: [events], ignored: () => ignored };
}

function contentOf(call: ConversationCall): ContentBody & { readonly text: string } {
  const content = contentBodyOf(call);
  return { ...content, text: JSON.stringify(content.body) };
}

async function embed(transport: Transport, call: EmbedCall): Promise<WholeAnswer> {
  const { method, body, count } = embedRequestOf(call);
  const response = await post(transport, call, method, JSON.stringify(body));
  return embeddingsOf(await answerText(response), count, call);
}

/** Sends a request with the operator's credential. @throws as {@link postJson}. */
function post(
  transport: Transport,
  call: UpstreamCall,
  method: string,
  body: string,
): Promise<TransportResponse> {
  const { upstream, upstreamModel } = call;
  const { credential } = upstream;
  const baseUrl = upstream.baseUrl === "" ? DEFAULT_BASE_URL : upstream.baseUrl;
  const headers: Record<string, string> =
    credential === null ? {} : { "x-goog-api-key": credential.reveal() };
  return postJson(
    transport,
    { ...call, upstream: { ...upstream, baseUrl } },
    { path: `/${modelPath(upstreamModel)}:${method}`, headers, body },
  );
}
