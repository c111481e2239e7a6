import { RefusedCaller } from "../access/access.ts";
import { AdmissionStoreUnavailable } from "../admission/admission-store.ts";
import { rateHeaders } from "../admission/rate-headers.ts";
import { type EndReason, requestIdOf } from "../contract/entry.ts";
import { Failure, isUnreachable, toFailure } from "../errors/failure.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import { RoutesFailed } from "../gateway/routes-failed.ts";
import { isUpstreamFault, upstreamFailure } from "../gateway/upstream-failure.ts";
import { factsOfFailure } from "../operations/answer-facts.ts";
import {
  type EntryFacts,
  factsWithoutUsage,
  JSON_HEADERS,
  type Reply,
  type StreamReply,
  type WholeReply,
} from "../operations/reply.ts";
import { noteRefusedKey } from "./authenticate.ts";
import { type ErrorAnswer, errorAnswerOf } from "./error-answer.ts";
import { requestIdHeaders } from "./messages-client.ts";
import { type Ending, record, releaseClaim } from "./record.ts";
import type { RequestContext } from "./request-context.ts";
import type { Services } from "./services.ts";
import { primeStream, type StreamWriter, streamWriter } from "./stream-writer.ts";

/** The status in the entry of a request whose client disconnected before it was answered: nginx's code for it. */
const CLIENT_CLOSED_REQUEST = 499;
const ANSWERED: Ending = { status: 200, errorCode: null, endReason: "stop" };
const CLIENT_GONE: Ending = { status: 200, errorCode: null, endReason: "client_gone" };
/** Answers belong to one account. A shared cache keeps those to requests with `Authorization` apart, but not those to requests with `x-api-key`. */
const NOT_STORED: ResponseHeaders = { "cache-control": "no-store" };
/** The body of an answer to HEAD. */
const NO_CHUNKS: AsyncIterable<string> = (async function* () {})();

/** Sends the answer. Its entry is recorded before the last byte is sent. @throws {Failure} when it can't be. */
export async function respond(request: RequestContext, reply: Reply, services: Services): Promise<void> {
  if (reply.kind === "stream") return await respondStream(request, reply, services);
  const ending = request.exchange.isClientGone ? CLIENT_GONE : ANSWERED;
  await record(request, ending, reply.facts, services);
  const { headers, body } = isGetOrHead(request.exchange)
    ? await compressed(request, reply, services)
    : reply;
  send(request, 200, headers, body);
}

/** Compresses JSON that was asked for with GET; HEAD has the same headers. Answers to other methods may contain a new secret: they are not compressed. */
async function compressed(
  { exchange }: RequestContext,
  { headers, body, isShared = false }: WholeReply,
  { compress }: Services,
): Promise<{ readonly headers: ResponseHeaders; readonly body: string | Uint8Array }> {
  if (headers["content-type"] !== JSON_HEADERS["content-type"]) return { headers, body };
  const varied = { ...NOT_STORED, ...headers, vary: "accept-encoding" };
  const coded = await compress(body, exchange.header("accept-encoding").join(","), isShared);
  if (coded === null) return { headers: varied, body };
  return { headers: { ...varied, "content-encoding": coded.coding }, body: coded.bytes };
}

/** Sends a stream: its chunks and, once the request is recorded, the last event, which tells the client that the answer is complete. */
async function respondStream(request: RequestContext, reply: StreamReply, services: Services): Promise<void> {
  const { exchange } = request;
  const chunks = await openStream(request, reply);
  const sink = exchange.stream(200, withRequestHeaders(request, reply.headers));
  request.status = 200;
  const stream = streamWriter(sink, reply.controlEvents, services.monotonicMs);
  request.stream = stream;
  const sent = await sendChunks(request, reply, stream, chunks);
  const { outcome, facts, last } = await completionOf(request, reply, sent, services);
  let { failure } = outcome;
  try {
    await record(request, exchange.isClientGone ? CLIENT_GONE : outcome.ending, facts, services);
  } catch (thrown) {
    // The client must not mistake an answer that could not be recorded for a complete one.
    failure ??= toFailure(thrown);
  }
  const end = failure === null ? last : failedEnd(request, reply, failure, services);
  if (end === null) return sink.abort();
  if (end !== "") await sink.write(end);
  await sink.end();
}

/** How a stream has ended: the failure to send to the client, if there is one, and the ending for its entry. */
interface StreamOutcome {
  readonly failure: Failure | null;
  readonly ending: Ending;
}

/** Sends the chunks of a reply. If its client has gone, the rest is only needed for an answer that is kept. */
async function sendChunks(
  request: RequestContext,
  reply: StreamReply,
  stream: StreamWriter,
  chunks: StreamReply["chunks"],
): Promise<StreamOutcome> {
  try {
    await stream.send(chunks, () => request.exchange.isClientGone && request.claim === null);
    return { failure: null, ending: ANSWERED };
  } catch (thrown) {
    if (request.signal.cause === "shutdown") return failedOutcome(stopping(), "shutdown");
    // The caller of a long answer may have lost the right to it.
    return brokenOff(thrown instanceof RefusedCaller ? thrown.failure : thrown, reply);
  }
}

/**
 * What a stream is recorded and completed with after its chunks. If the facts or the completion can't be found, the stream has failed, and is
 * recorded with what is known of it.
 */
async function completionOf(
  request: RequestContext,
  reply: StreamReply,
  sent: StreamOutcome,
  services: Services,
): Promise<{ readonly outcome: StreamOutcome; readonly facts: EntryFacts; readonly last: string }> {
  let facts: EntryFacts = factsWithoutUsage(request.model);
  try {
    facts = await reply.facts();
    return { outcome: sent, facts, last: sent.failure === null ? reply.last() : "" };
  } catch (thrown) {
    if (sent.failure === null) return { outcome: brokenOff(thrown, reply), facts, last: "" };
    logFault(request, toFailure(thrown), services);
    return { outcome: sent, facts, last: "" };
  }
}

/** What a stream that has failed ends with; `null`: it has to be aborted, or its client would take it for complete. */
function failedEnd(
  request: RequestContext,
  { controlEvents }: StreamReply,
  failure: Failure,
  services: Services,
): string | null {
  logFault(request, failure, services);
  try {
    return controlEvents === null ? null : controlEvents.failure(failure);
  } catch (thrown) {
    // What the upstream sent can't be written.
    logFault(request, toFailure(thrown), services);
    return null;
  }
}

/** Returns the chunks to send, once the journal contains the request's beginning. A request that can't be recorded must not begin. */
async function openStream(
  { exchange, begun }: RequestContext,
  { chunks }: StreamReply,
): Promise<StreamReply["chunks"]> {
  if (exchange.method === "HEAD") {
    // The operation's own chunks are never read. Closing them releases what they hold.
    await chunks[Symbol.asyncIterator]().return?.();
    return NO_CHUNKS;
  }
  return begun === null || begun.writtenIn !== null ? chunks : await primeStream(begun.whenWritten, chunks);
}

/** Answers with an error, and records it if the caller is known. */
export async function respondFailure(
  request: RequestContext,
  thrown: unknown,
  services: Services,
): Promise<void> {
  const { failure, endReason, facts } = outcomeOf(request, thrown);
  logFault(request, failure, services);
  noteRefusedKey(request, thrown, services.security);
  request.signal.abort("ended");
  if (request.status !== null) return;
  const answer = answerOfFailure(request, failure);
  const ending: Ending = request.exchange.isClientGone
    ? { status: CLIENT_CLOSED_REQUEST, errorCode: null, endReason: "client_gone" }
    : { status: answer.status, errorCode: failure.code, endReason };
  try {
    await record(request, ending, facts, services, { isDatabaseAway: isDatabaseAway(failure) });
    sendError(request, answer);
  } catch (error) {
    // A request that can't be recorded is answered with the reason for that.
    const unrecorded = toFailure(error);
    logFault(request, unrecorded, services);
    await releaseClaim(request);
    sendError(request, answerOfFailure(request, unrecorded));
  }
}

/** Whether a request has failed because the database did not answer. That the store of limits, which may be Redis, did not is no reason. */
function isDatabaseAway({ code, cause }: Failure): boolean {
  if (code !== "server_is_overloaded" || cause instanceof AdmissionStoreUnavailable) return false;
  return isUnreachable(cause);
}

/** The failure for the client, and the end reason and facts for the entry. */
function outcomeOf(
  request: RequestContext,
  thrown: unknown,
): { readonly failure: Failure; readonly endReason: EndReason; readonly facts: EntryFacts } {
  const { model, costBasis } = request;
  const routesFailed = thrown instanceof RoutesFailed ? thrown : null;
  const facts =
    routesFailed !== null && costBasis !== null
      ? factsOfFailure(routesFailed, costBasis)
      : factsWithoutUsage(model);
  // Only a request that was being forwarded failed because the service stops. Any other has its own reason.
  if (request.signal.cause === "shutdown" && request.hold !== null)
    return { failure: stopping(), endReason: "shutdown", facts };
  if (routesFailed !== null) {
    const failure = upstreamFailure(routesFailed);
    return { failure, endReason: upstreamEndReason(failure), facts };
  }
  const failure = thrown instanceof RefusedCaller ? thrown.failure : toFailure(thrown);
  return { failure, endReason: "refused", facts };
}

/** The outcome of a stream that was not completed. Exports have no upstream, and the service may fail beside one. */
function brokenOff(thrown: unknown, { failureOf }: StreamReply): StreamOutcome {
  const failure = failureOf(thrown);
  return failedOutcome(failure, isUpstreamFault(thrown) ? upstreamEndReason(failure) : "refused");
}

function failedOutcome(failure: Failure, endReason: EndReason): StreamOutcome {
  return { failure, ending: { status: 200, errorCode: failure.code, endReason } };
}

function upstreamEndReason(failure: Failure): EndReason {
  if (failure.status < 500) return "refused";
  return failure.code === "upstream_timeout" ? "timeout" : "upstream_error";
}

function answerOfFailure({ exchange, id }: RequestContext, failure: Failure): ErrorAnswer {
  return errorAnswerOf(exchange, failure, requestIdOf(id));
}

function sendError(request: RequestContext, { status, headers, body }: ErrorAnswer): void {
  // Without the header, caches may store some errors, such as 404.
  send(request, status, isGetOrHead(request.exchange) ? { ...headers, ...NOT_STORED } : headers, body);
}

function isGetOrHead({ method }: RequestContext["exchange"]): boolean {
  return method === "GET" || method === "HEAD";
}

function send(
  request: RequestContext,
  status: number,
  headers: ResponseHeaders,
  body: string | Uint8Array,
): void {
  request.status = status;
  try {
    request.exchange.respond(status, withRequestHeaders(request, headers), body);
  } catch (fault) {
    // Otherwise the client would wait until it times out.
    request.exchange.abandon();
    throw fault;
  }
}

/** Adds the request's id and the state of the account's rate limits. */
function withRequestHeaders(
  { id, permission, exchange }: RequestContext,
  headers: ResponseHeaders,
): readonly ResponseHeaders[] {
  const rates = permission?.admitted?.rates;
  const own = requestIdHeaders(exchange, requestIdOf(id));
  return rates === undefined ? [headers, own] : [headers, own, ...rateHeaders(rates)];
}

function logFault({ id, exchange, model }: RequestContext, failure: Failure, { faults }: Services): void {
  if (failure.status < 500 || exchange.isClientGone) return;
  faults.note(failure, { model: model ?? undefined }, { requestId: requestIdOf(id) });
}

function stopping(): Failure {
  return new Failure("server_is_overloaded", "The service is stopping. Send the request again.", {
    retryAfterMs: 1_000,
  });
}
