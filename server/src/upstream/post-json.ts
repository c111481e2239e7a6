import { completedJson } from "../json/incomplete-json.ts";
import { readBeginning } from "./answer-body.ts";
import { bearerHeaders } from "./credential-headers.ts";
import type { UpstreamCall, UpstreamRefused } from "./dialect.ts";
import { refusalOf, refusedStatus } from "./refusal.ts";
import type { HeaderList, Transport, TransportResponse } from "./transport.ts";

const MAX_ERROR_BYTES = 64 * 1024;
/** Statuses of whole answers. Some frameworks answer each POST with 201, and proxies that change an answer with 203. */
const ANSWERED = new Set([200, 201, 203]);
const TYPES: HeaderList = [
  "content-type",
  "application/json",
  "accept",
  "application/json, text/event-stream",
];
const encoder = new TextEncoder();

export interface JsonPost {
  readonly url: string;
  /** Besides the types. */
  readonly headers: HeaderList;
  /** JSON. */
  readonly body: string;
  /** What an error means where {@link refusalOf} does not know; `null`: it does. */
  readonly refused?: (status: number, text: string) => UpstreamRefused | null;
}

/**
 * Sends JSON to an upstream.
 *
 * @returns the answer, its body unread.
 * @throws {UpstreamRefused} for a status of any other kind.
 * @throws {TransportError} when no answer came.
 */
export function postJson(
  transport: Transport,
  { upstream, signal, memory }: UpstreamCall,
  { url, headers, body, refused }: JsonPost,
): Promise<TransportResponse> {
  const answered = transport.send({
    method: "POST",
    url,
    headers: [...TYPES, ...headers],
    body: encoder.encode(body),
    signal,
    timeouts: upstream.timeouts,
    memory,
  });
  return accepted(answered, refused);
}

/**
 * Returns the response if its status is that of an answer, and throws what any other status means. It is a separate function, because a function that
 * waits keeps everything that it refers to in memory: the text that was sent would stay there until the answer comes. Callers do not keep the text
 * either.
 */
function accepted(
  answered: Promise<TransportResponse>,
  refused: JsonPost["refused"],
): Promise<TransportResponse> {
  return answered.then((response) =>
    ANSWERED.has(response.status) ? response : refusedWith(response, refused),
  );
}

async function refusedWith(response: TransportResponse, refused: JsonPost["refused"]): Promise<never> {
  // A redirect or another 2xx can't be passed on either.
  const beginning = await readBeginning(response.body, MAX_ERROR_BYTES);
  // Some servers quote all of the request that they refuse, after the reason.
  const text = beginning.isWhole ? beginning.text : (completedJson(beginning.text) ?? "");
  const status = refusedStatus(response.status, text);
  throw refused?.(status, text) ?? refusalOf(status, text, response.headers);
}

/** Sends JSON with the credential as most upstreams take it: as a bearer token. @throws as {@link postJson}. */
export function postWithBearer(
  transport: Transport,
  call: UpstreamCall,
  path: string,
  body: string,
): Promise<TransportResponse> {
  const { baseUrl, credential } = call.upstream;
  return postJson(transport, call, { url: `${baseUrl}${path}`, headers: bearerHeaders(credential), body });
}
