import type { Upstream } from "../../catalog/catalog.ts";
import { isJsonObject } from "../../json/json.ts";
import { JsonBody } from "../../json/json-body.ts";
import { producedBy } from "../../tokens/token-estimate.ts";
import {
  type ChatCall,
  type Dialect,
  type UpstreamCall,
  UpstreamRefused,
  type WholeAnswer,
} from "../dialect.ts";
import type { ResponseBody, Transport, TransportResponse } from "../transport.ts";
import { malformedResponse, refusalOf, refusedStatus } from "./refusal.ts";
import { streamedAnswer } from "./streamed-answer.ts";
import { readUsage } from "./usage.ts";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Upstreams with OpenAI's wire format. Only two things change: the model's name, and usage in streams, which is always requested
 * and removed for clients that did not ask for it.
 */
export function openAiDialect(transport: Transport): Dialect {
  return {
    chat: async (call) => {
      const { body } = await send(transport, call, "/chat/completions", upstreamBody(call));
      if (call.stream) return streamedAnswer(call, body);
      const text = textAtOnce(body, MAX_ANSWER_BYTES) ?? (await readText(body, MAX_ANSWER_BYTES));
      return wholeAnswer(call, text, "choices");
    },
    embed: async (call) => {
      const asked = call.body.textWith({ model: call.upstreamModel });
      const { body } = await send(transport, call, "/embeddings", asked);
      return wholeAnswer(call, await readText(body, MAX_ANSWER_BYTES), "data");
    },
  };
}

async function send(
  transport: Transport,
  { upstream, signal }: UpstreamCall,
  path: string,
  body: string,
): Promise<TransportResponse> {
  const response = await transport.send({
    method: "POST",
    url: `${upstream.baseUrl}${path}`,
    headers: headersFor(upstream),
    body: encoder.encode(body),
    signal,
    timeouts: upstream.timeouts,
  });
  if (response.status === 200) return response;
  // A redirect or another 2xx can't be passed on either.
  const text = await readText(response.body, MAX_ERROR_BYTES);
  const status = refusedStatus(response.status, text);
  throw new UpstreamRefused(status, refusalOf(status, response.headers, text));
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

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function headersFor(upstream: Upstream): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(upstream.credential === null ? {} : { authorization: `Bearer ${upstream.credential.reveal()}` }),
  };
}

function upstreamBody({ body, upstreamModel, stream }: ChatCall): string {
  if (!stream) return body.textWith({ model: upstreamModel });
  const { stream_options: asked } = body.value;
  const options = isJsonObject(asked) ? asked : {};
  return body.textWith({ model: upstreamModel, stream_options: { ...options, include_usage: true } });
}

async function readText(body: ResponseBody, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw malformedResponse();
    chunks.push(chunk);
  }
  const [first] = chunks;
  // Decoding in one call is several times as fast as in a stream.
  return decoder.decode(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
}

/** Reads the body without waiting; `null` if it has not been received completely. */
function textAtOnce(body: ResponseBody, maxBytes: number): string | null {
  const bytes = body.takeWhole?.() ?? null;
  if (bytes !== null && bytes.length > maxBytes) throw malformedResponse();
  return bytes === null ? null : decoder.decode(bytes);
}
