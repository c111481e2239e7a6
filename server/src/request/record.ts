import type { Recorded } from "../audit/recorder.ts";
import { type AuditEntry, timeOfEntry } from "../contract/entry.ts";
import type { IdempotencyRecord } from "../contract/kept-answer.ts";
import { toFailure } from "../errors/failure.ts";
import type { AppendedLine } from "../journal/journal-write.ts";
import { type EntryFacts, factsWithoutUsage } from "../operations/reply.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { tokensOfBytes } from "./receive-body.ts";
import type { RequestContext } from "./request-context.ts";
import type { Services } from "./services.ts";

/** How a request has ended. */
export type Ending = Pick<AuditEntry, "status" | "errorCode" | "endReason">;

/** The ending of a request whose process dies. Its usage is unknown, so nothing is charged. */
const NODE_LOST: Ending = { status: 500, errorCode: "internal_error", endReason: "node_lost" };

/** A request without usage is not counted against the token limit, unless its body is larger: then it was expensive to parse. */
const FREE_BYTES = 64 * 1024;

/** Records that a request has begun, with the entry that it leaves if the process dies. `null` for requests without a known key. */
export function recordBeginning(request: RequestContext, services: Services): AppendedLine | null {
  const entry = entryOf(request, NODE_LOST, factsWithoutUsage(request.model), services);
  return entry === null ? null : services.recorder.begin(entry);
}

interface RecordOptions {
  /**
   * Whether the request has failed because the database did not answer. Then it does not wait for the database a second time: its entry is in the
   * journal, and its claim is released later. Default `false`.
   */
  readonly isDatabaseAway?: boolean;
}

/**
 * Ends a request: frees its concurrency slot, records its entry, settles its hold, and resolves when the entry is as durable as
 * configured. Call it before the answer's last byte is sent. A second call records nothing.
 *
 * @throws {Failure} `server_is_overloaded` when the entry can't be stored.
 */
export async function record(
  request: RequestContext,
  ending: Ending,
  facts: EntryFacts,
  services: Services,
  { isDatabaseAway = false }: RecordOptions = {},
): Promise<void> {
  // The slot is released first, because a client may send its next request as soon as this answer ends.
  const released = request.permission?.admitted?.end(tokensToCount(request, facts)) ?? null;
  const entry = request.needsNoEntry ? null : entryOf(request, ending, facts, services);
  if (entry !== null) {
    request.needsNoEntry = true;
    const { stored } = await recordOrLater(request, entry, services);
    // The entry is in the journal and will be charged.
    request.hold?.settle(facts.costNanoUsd);
    if (entry.idempotency !== undefined) request.claim = null;
    services.trace(entry, request.exchange.header("traceparent")[0] ?? null);
    if (isDatabaseAway) stored?.catch(() => {});
    else if (stored !== null) await stored;
  }
  if (request.claim !== null) {
    const releasing = releaseClaim(request);
    if (!isDatabaseAway) await releasing;
  }
  if (released !== null) await released;
}

/** Records an entry. If that fails, the request is refused for it, and recorded as refused when it can be. @throws {Failure} as {@link record}. */
async function recordOrLater(
  request: RequestContext,
  entry: AuditEntry,
  services: Services,
): Promise<Recorded> {
  const { recorder } = services;
  try {
    return await recorder.record(entry, request.begun);
  } catch (thrown) {
    const { status, code } = toFailure(thrown);
    // The head of a stream has been sent.
    const ending: Ending = { status: request.status ?? status, errorCode: code, endReason: "refused" };
    const refused = entryOf(request, ending, factsWithoutUsage(request.model), services);
    if (refused !== null) recorder.recordLater(refused, request.begun);
    throw thrown;
  }
}

/** Ends the claim of a request that has no answer to keep: before it is answered, because a client may retry a failed request at once. */
export async function releaseClaim(request: RequestContext): Promise<void> {
  const { claim } = request;
  request.claim = null;
  await claim?.release();
}

/**
 * The tokens that count against the account's limit. Of a request whose usage is not known, because it was refused or its upstream has
 * failed, the estimate of the answer does not count: otherwise clients that retry while an upstream is down would use up the limit.
 */
function tokensToCount({ body }: RequestContext, { countedTokens }: EntryFacts): number {
  if (countedTokens !== null) return countedTokens;
  const bytes = body?.wholeBytes ?? 0;
  return bytes <= FREE_BYTES ? 0 : tokensOfBytes(bytes);
}

/** The request's audit entry; `null` if its key is not known. */
function entryOf(
  request: RequestContext,
  ending: Ending,
  facts: EntryFacts,
  { monotonicMs }: Services,
): AuditEntry | null {
  if (request.caller === null || request.endpoint === null) return null;
  const { key, account } = request.caller.snapshot;
  const { usage, costNanoUsd, implausibleNanoUsd } = facts;
  // One literal that names every field: spreading two objects into one makes V8 describe the result's shape again each time, in
  // the old generation, which then has to be collected every few seconds.
  return {
    id: request.id,
    accountId: account.id,
    key: key.id,
    keyId: key.keyId,
    at: timeOfEntry(request.id),
    endpoint: request.endpoint,
    model: facts.model,
    upstream: facts.upstream,
    usageSource: facts.usageSource,
    promptTokens: usage?.promptTokens ?? null,
    completionTokens: usage?.completionTokens ?? null,
    cachedTokens: usage?.cachedTokens ?? null,
    costNanoUsd,
    latencyMs: Math.round(monotonicMs() - request.startedMs),
    timeToFirstTokenMs: facts.timeToFirstTokenMs,
    sourceIp: request.sourceIp,
    wouldRefuse: request.wouldRefuse,
    cacheWriteTokens: partOf(usage, usage?.cacheWriteTokens),
    cacheWrite1hTokens: partOf(usage, usage?.cacheWrite1hTokens),
    reasoningTokens: partOf(usage, usage?.reasoningTokens),
    audioTokens: partOf(usage, usage?.audioPromptTokens, usage?.audioCompletionTokens),
    imageTokens: partOf(usage, usage?.imagePromptTokens, usage?.imageCompletionTokens),
    status: ending.status,
    errorCode: ending.errorCode,
    endReason: ending.endReason,
    spender: costNanoUsd === 0n ? undefined : (request.hold?.spender ?? undefined),
    implausibleNanoUsd: implausibleNanoUsd === 0n ? undefined : implausibleNanoUsd,
    idempotency: idempotencyRecord(request, ending, facts),
  };
}

/** The tokens of a part: in a known usage an absent part is 0. */
function partOf(usage: Usage | null, ofPrompt = 0, ofCompletion = 0): number | null {
  return usage === null ? null : ofPrompt + ofCompletion;
}

/** What is kept for the request's idempotency key, if this ending is one that a retry gets again. */
function idempotencyRecord(
  { claim }: RequestContext,
  { status, endReason }: Ending,
  { kept }: EntryFacts,
): IdempotencyRecord | undefined {
  const isAnswered = status === 200 && (endReason === "stop" || endReason === "client_gone");
  return isAnswered && kept !== undefined ? claim?.answered(kept) : undefined;
}
