import { EventReader, EventTooLarge } from "../../../sdk/src/contract/event-reader.ts";
import { type UpstreamCall, UpstreamRefused } from "./dialect.ts";
import { malformedResponse, refusalOf, refusedStatus } from "./refusal.ts";
import type { ResponseBody, Transport, TransportResponse } from "./transport.ts";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
/** An event larger than this is not a model's answer. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface JsonPost {
  /** The path after the upstream's base URL, with its query. */
  readonly path: string;
  /** Besides the type and the credential's header. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** What an answer with another status than 200 means; absent: as {@link refusalOf} has it. */
  readonly refused?: (response: RefusedResponse) => UpstreamRefused;
}

export interface RefusedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/**
 * Sends JSON to an upstream.
 *
 * @returns the answer with status 200, its body unread.
 * @throws {UpstreamRefused} for any other status.
 * @throws {TransportError} when no answer came.
 */
export async function postJson(
  transport: Transport,
  { upstream, signal }: UpstreamCall,
  { path, headers, body, refused = asRefused }: JsonPost,
): Promise<TransportResponse> {
  const response = await transport.send({
    method: "POST",
    url: `${upstream.baseUrl}${path}`,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: encoder.encode(body),
    signal,
    timeouts: upstream.timeouts,
  });
  if (response.status === 200) return response;
  // A redirect or another 2xx can't be passed on either.
  const text = await readText(response.body, MAX_ERROR_BYTES);
  throw refused({ status: refusedStatus(response.status, text), headers: response.headers, text });
}

export function asRefused({ status, headers, text }: RefusedResponse): UpstreamRefused {
  return new UpstreamRefused(status, refusalOf(status, headers, text));
}

/** The header by which most upstreams take their credential; none for an upstream without one. */
export function bearerOf({ upstream: { credential } }: UpstreamCall): Record<string, string> {
  return credential === null ? {} : { authorization: `Bearer ${credential.reveal()}` };
}

/** The text of an answer. @throws {UpstreamRefused} when it is longer than a model's answer can be. */
export async function answerText({ body }: TransportResponse): Promise<string> {
  const bytes = body.takeWhole?.() ?? null;
  if (bytes === null) return await readText(body, MAX_ANSWER_BYTES);
  if (bytes.length > MAX_ANSWER_BYTES) throw malformedResponse();
  return decoder.decode(bytes);
}

/** The data of a stream's server-sent events: all that a piece from the upstream contains, together. */
export async function* eventDataOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const events = new EventReader(MAX_EVENT_BYTES);
  try {
    for await (const bytes of body) {
      const data = events.push(bytes);
      if (data.length > 0) yield data;
    }
    const data = events.end();
    if (data.length > 0) yield data;
  } catch (error) {
    throw error instanceof EventTooLarge ? malformedResponse() : error;
  }
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
