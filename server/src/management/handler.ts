import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { MAX_BATCHED_CALLS } from "../../../sdk/src/contract/procedure-data.ts";
import { RefusedCaller } from "../access/access.ts";
import type { BodyBudget } from "../admission/body-budget.ts";
import { declaredBytesOf } from "../admission/incoming-body.ts";
import type { Recorder } from "../audit/recorder.ts";
import { type AuditEntry, type EntryId, NO_TOKENS, requestIdOf, timeOfEntry } from "../contract/entry.ts";
import type { KeySnapshot } from "../contract/key.ts";
import { recordedEndpoint } from "../contract/recorded-text.ts";
import { type ErrorCode, envelopeOf, Failure, headersOf, toFailure } from "../errors/failure.ts";
import type { FaultLog } from "../errors/fault-log.ts";
import { isJsonType } from "../json/json.ts";
import { networkOf } from "../networks/networks.ts";
import { type Compress, createCompressor } from "../operations/compressed-body.ts";
import type { CallLimits } from "./call-limits.ts";
import {
  type CallerParts,
  callerOf,
  clientInfoOf,
  type RpcCaller,
  requireSameCaller,
  type SentCredentials,
} from "./caller.ts";
import { calledBy, MAX_ANONYMOUS_BODY_BYTES, maxBodyBytes, procedureOf, requireFewCalls } from "./calls.ts";
import {
  type BrowserAddress,
  requireSameOrigin,
  type SessionCookie,
  sessionCookie,
} from "./dashboard-sessions.ts";
import { EncodedAnswers } from "./encoded-answers.ts";
import type { AppRouter } from "./router.ts";
import { failureOf, type RpcContext, shapeOf } from "./trpc.ts";
import { withWholeBody } from "./whole-body.ts";

export interface RpcParts extends CallerParts {
  readonly router: AppRouter;
  /** Limits the memory of request bodies while they arrive. */
  readonly bodies: BodyBudget;
  readonly recorder: Pick<Recorder, "record">;
  readonly callLimits: CallLimits;
  readonly newId: () => EntryId;
  readonly now: () => Date;
  /** The client's address, from the socket and the headers of trusted proxies. */
  readonly clientAddress: (request: Request, peer: string) => string | null;
  readonly faults: Pick<FaultLog, "note">;
  readonly browserAddress: BrowserAddress;
}

/**
 * Creates the web-standard handler of `/trpc/*`. It never rejects: every failure is answered with the error envelope, in which there
 * is the error of tRPC, too.
 */
export function createRpcHandler(parts: RpcParts): (request: Request, peer: string) => Promise<Response> {
  const cookie = sessionCookie(parts.browserAddress);
  const compress = createCompressor();
  return async (request, peer) => {
    const id = parts.newId();
    const clientInfo = clientInfoOf(parts.clientAddress(request, peer), request.headers.get("user-agent"));
    const sessionToken = cookie.read(request.headers);
    const incoming: Incoming = { id, request, requestId: requestIdOf(id), clientInfo, sessionToken };
    try {
      return await compressed(await answer(parts, cookie, incoming), parts, request, compress);
    } catch (thrown) {
      return refusal(parts, incoming, await failureToAnswer(parts, incoming, thrown));
    }
  };
}

/** A request for procedures, before it is authenticated. */
interface Incoming extends SentCredentials {
  readonly id: EntryId;
  readonly requestId: string;
}

/** @throws a failure of the whole request. The failures of single calls are part of the answer. */
async function answer(parts: RpcParts, cookie: SessionCookie, incoming: Incoming): Promise<Response> {
  const { requestId, clientInfo } = incoming;
  await refusingCredentialFirst(parts, incoming, async () => requireRpcForm(incoming, parts.browserAddress));
  const { caller, complete } = await authenticatedCall(parts, incoming);
  const setCookies: string[] = [];
  const failures = new CallFailures(parts, requestId);
  const answers = new EncodedAnswers();
  const context: RpcContext = {
    requestId,
    caller,
    clientInfo,
    answers,
    signal: complete.signal,
    requireSameCaller: () => requireSameCaller(parts, incoming, caller),
    sessionCookie: {
      set: (session) => void setCookies.push(cookie.keep(session)),
      clear: () => void setCookies.push(cookie.forget()),
    },
  };
  const answered = await fetchRequestHandler({
    endpoint: "/trpc",
    req: complete,
    router: parts.router,
    createContext: () => context,
    maxBatchSize: MAX_BATCHED_CALLS,
    // The input of some queries, such as a thousand networks, is longer than an address can be.
    allowMethodOverride: true,
    onError: ({ error, path }) => failures.note(failureOf(error), path, complete.signal),
  });
  const response = await answers.placedIn(await withAllResults(answered));
  if (caller.kind === "key") {
    const { snapshot, wouldRefuse } = caller.permission;
    const outcome = { status: response.status, errorCode: failures.firstCode, wouldRefuse };
    await recordKeyUse(parts, incoming, snapshot, outcome);
  }
  const { headers } = response;
  for (const [name, value] of failures.headers) headers.set(name, value);
  for (const value of setCookies) headers.append("set-cookie", value);
  // tRPC names no type for the refusal of a request that it can't read, which is JSON.
  if (headers.get("content-type")?.startsWith("text/plain") === true)
    headers.set("content-type", "application/json");
  headers.set("x-request-id", requestId);
  headers.set("cache-control", "no-store");
  return response;
}

/** The failures of the calls of one request. */
class CallFailures {
  readonly #faults: RpcParts["faults"];
  readonly #requestId: string;
  /** Their headers, such as `retry-after`. */
  readonly headers = new Headers();
  /** The code of the first one; `null` if no call has failed. */
  firstCode: ErrorCode | null = null;

  constructor({ faults }: Pick<RpcParts, "faults">, requestId: string) {
    this.#faults = faults;
    this.#requestId = requestId;
  }

  /** Adds the failure of a call, and logs it if the service is at fault. */
  note(failure: Failure, procedure: string | undefined, signal: AbortSignal): void {
    this.firstCode ??= failure.code;
    for (const [name, value] of Object.entries<string>(headersOf(failure))) this.headers.set(name, value);
    // A read whose client has gone is given up, which is no fault.
    const isLeft = failure.status === 503 && signal.aborted;
    if (failure.status >= 500 && !isLeft)
      this.#faults.note(failure, { procedure }, { requestId: this.#requestId });
  }
}

/**
 * Waits for all calls of a batch whose client wants each result as soon as it is ready (`accept: application/jsonl`). The session cookie,
 * the headers of failures and what is recorded of the request are known only then.
 */
async function withAllResults(response: Response): Promise<Response> {
  const { status, headers } = response;
  if (!headers.has("transfer-encoding")) return response;
  headers.delete("transfer-encoding");
  return new Response(await response.arrayBuffer(), { status, headers });
}

/**
 * Compresses the answers of queries. Those of mutations may contain a new secret; events of subscriptions must not wait for each
 * other.
 */
async function compressed(
  response: Response,
  { router }: RpcParts,
  request: Request,
  compress: Compress,
): Promise<Response> {
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  if (!isJson || !calledBy(request).every((name) => procedureOf(router, name)?.type === "query"))
    return response;
  const { status, headers } = response;
  headers.append("vary", "accept-encoding");
  const bytes = new Uint8Array(await response.arrayBuffer());
  const coded = await compress(bytes, request.headers.get("accept-encoding") ?? "");
  if (coded === null) return new Response(bytes, { status, headers });
  headers.set("content-encoding", coded.coding);
  return new Response(coded.bytes, { status, headers });
}

/**
 * Authenticates the caller and reads the body. A body above the limit for unknown callers is read only after its sender is known.
 * The caller is authenticated again after the body, because a slow sender could otherwise act by a right that was withdrawn in the
 * meantime.
 *
 * @throws {Failure | RefusedCaller} for a refused caller, too many calls, or a body that is too large or too slow.
 */
async function authenticatedCall(
  parts: RpcParts,
  incoming: Incoming,
): Promise<{ readonly caller: RpcCaller; readonly complete: Request }> {
  const { request, clientInfo } = incoming;
  // A batch above the maximum is refused as a whole and counts as one of the maximum length.
  const names = calledBy(request).slice(0, MAX_BATCHED_CALLS);
  await parts.callLimits.countAuth(clientInfo.sourceIp, names);
  const authenticate = () => callerOf(parts, incoming);
  let maxBytes = MAX_ANONYMOUS_BODY_BYTES;
  if (mayBeLong(request)) {
    const sender = await authenticate();
    if (sender.kind !== "anonymous") maxBytes = maxBodyBytes(parts.router, names);
  }
  const sender = parts.bodies.address(networkOf(clientInfo.sourceIp));
  const complete = await refusingCredentialFirst(parts, incoming, () =>
    withWholeBody(request, maxBytes, sender),
  );
  const caller = await authenticate();
  try {
    await parts.callLimits.count(caller, clientInfo.sourceIp, names.length);
  } catch (thrown) {
    // A request with a known key is logged, however it ends.
    if (caller.kind !== "key" || !(thrown instanceof Failure)) throw thrown;
    const { snapshot, wouldRefuse } = caller.permission;
    throw new RefusedCaller(thrown, snapshot, wouldRefuse);
  }
  requireFewCalls(parts.router, names);
  return { caller, complete };
}

/**
 * Checks something of a request. If that fails, and the request has a key or token that is refused too, the credential's refusal is thrown: it is the
 * answer to every request with a revoked key (specification, section 3).
 */
async function refusingCredentialFirst<Checked>(
  parts: RpcParts,
  incoming: Incoming,
  check: () => Promise<Checked>,
): Promise<Checked> {
  try {
    return await check();
  } catch (thrown) {
    if (incoming.request.headers.has("authorization")) await callerOf(parts, incoming);
    throw thrown;
  }
}

/** Returns whether the body exceeds the limit for unknown callers, or declares no length. */
function mayBeLong(request: Request): boolean {
  if (request.body === null) return false;
  const bytes = declaredBytesOf(request.headers.get("content-length"));
  return bytes === null || bytes > MAX_ANONYMOUS_BODY_BYTES;
}

/** Returns the failure to answer. A refusal with a known key is recorded first; if that fails, this failure is answered. */
async function failureToAnswer(parts: RpcParts, incoming: Incoming, thrown: unknown): Promise<Failure> {
  const refused = thrown instanceof RefusedCaller ? thrown : null;
  const failure = refused?.failure ?? toFailure(thrown);
  const snapshot = refused?.snapshot ?? (await keyOf(parts, incoming));
  if (snapshot === null) return failure;
  try {
    const wouldRefuse = refused?.wouldRefuse ?? null;
    const outcome = { status: failure.status, errorCode: failure.code, wouldRefuse };
    await recordKeyUse(parts, incoming, snapshot, outcome);
    return failure;
  } catch (unrecorded) {
    return toFailure(unrecorded);
  }
}

/** The key of a request that was refused before its caller was known; `null` if it has no known key. */
async function keyOf({ access }: RpcParts, { request }: Incoming): Promise<KeySnapshot | null> {
  const header = request.headers.get("authorization");
  if (header === null) return null;
  try {
    return (await access.authenticate([header])).snapshot;
  } catch {
    return null;
  }
}

/** Records a request that was made with an API key: every such request is logged (specification, section 2). */
async function recordKeyUse(
  { recorder, now }: RpcParts,
  { id, request, clientInfo }: Incoming,
  { account, key }: KeySnapshot,
  outcome: Pick<AuditEntry, "status" | "errorCode" | "wouldRefuse">,
): Promise<void> {
  const at = timeOfEntry(id);
  const { pathname } = new URL(request.url);
  const { stored } = await recorder.record({
    id,
    at,
    accountId: account.id,
    key: key.id,
    keyId: key.keyId,
    endpoint: recordedEndpoint(request.method, pathname),
    model: null,
    upstream: null,
    ...outcome,
    endReason: outcome.status < 400 ? "stop" : "refused",
    usageSource: "none",
    ...NO_TOKENS,
    costNanoUsd: 0n,
    latencyMs: Math.max(0, now().getTime() - at.getTime()),
    timeToFirstTokenMs: null,
    sourceIp: clientInfo.sourceIp,
  });
  if (stored !== null) await stored;
}

function refusal({ faults }: RpcParts, { requestId }: Incoming, failure: Failure): Response {
  if (failure.status >= 500) faults.note(failure, {}, { requestId });
  const { error } = envelopeOf(failure);
  // tRPC's own client reads `json`, and clients of the HTTP API what is beside it.
  const body = { error: { ...error, json: shapeOf(failure, requestId) } };
  return Response.json(body, {
    status: failure.status,
    headers: { ...headersOf(failure), "x-request-id": requestId, "cache-control": "no-store" },
  });
}

/**
 * Requires of a mutation that no page of another site has sent it, and JSON: other bodies need no CORS preflight, and tRPC would run mutations
 * without input from them. A query must not come from such a page with the session's cookie, which browsers send for pages of the same domain:
 * it would count against the user's calls.
 */
function requireRpcForm({ request, sessionToken }: Incoming, address: BrowserAddress): void {
  const isQuery = request.method === "GET";
  if (!isQuery && request.method !== "POST") {
    throw new Failure("method_not_allowed", "Use GET or POST here.", { headers: { allow: "GET, POST" } });
  }
  if (isQuery && sessionToken === null) return;
  // With HTTP/2 the host is in the address only (RFC 9113, section 8.3.1).
  const host = () => new URL(request.url).host;
  const get = (name: string) => request.headers.get(name) ?? (name === "host" ? host() : null);
  requireSameOrigin({ get }, address);
  if (isQuery) return;
  const type = request.headers.get("content-type") ?? "";
  if (!isJsonType(type)) {
    throw new Failure("unsupported_media_type", "Send `content-type: application/json`.");
  }
}
