import { HEARTBEAT } from "../conversation/control-events.ts";
import type { ControlEvents, WireRequest } from "../conversation/wire.ts";
import { type CostBasis, paidTokens } from "../credits/request-cost.ts";
import { resultWithin } from "../errors/deadline.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { RoutesFailed } from "../gateway/routes-failed.ts";
import { upstreamFailure } from "../gateway/upstream-failure.ts";
import type { JsonObject } from "../json/json.ts";
import { JsonBody } from "../json/json-body.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { TextTally } from "../tokens/text-tally.ts";
import { NO_USAGE, type TokenEstimator, type Usage } from "../tokens/token-estimate.ts";
import type { StreamedAnswer, WholeAnswer } from "../upstream/dialect.ts";
import { type FactsOf, factsOfAnswer, factsOfFailure } from "./answer-facts.ts";
import type { ModelCall } from "./operation.ts";
import {
  type EntryFacts,
  EVENT_STREAM_HEADERS,
  factsWithoutUsage,
  HEARTBEAT_MS,
  JSON_HEADERS,
  type Reply,
  type StreamReply,
  type WholeReply,
} from "./reply.ts";

/** How many ignored fields a header names, and how much of each name. */
const MAX_IGNORED_NAMES = 32;
const MAX_IGNORED_LENGTH = 64;

export interface ModelOperationParts {
  readonly gateway: Gateway;
  /** Counts tokens where an upstream does not. */
  readonly estimator: TokenEstimator;
  readonly maxBodyBytes: number;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/** Stores an answer, before its last byte is sent. Resolves with the members of the answer that this changes. If it throws, the answer fails. */
type StoreAnswer = (answer: JsonObject) => Promise<JsonObject>;

/**
 * Gets the answer to a request of any wire from its model.
 *
 * @throws {Failure} when the request can't be expressed for the model.
 * @throws {RoutesFailed} when no upstream answered.
 */
export function runAnswer(
  { gateway, estimator, monotonicMs }: ModelOperationParts,
  {
    paid,
    signal,
    startedMs,
    memory,
    accountId,
  }: Pick<ModelCall<unknown>, "paid" | "signal" | "startedMs" | "memory" | "accountId">,
  request: WireRequest,
  store: StoreAnswer | null = null,
): Promise<Reply> {
  const { costBasis } = paid;
  const { model } = costBasis;
  // The functions below must not refer to the request: while the answer is streamed, only what is counted is kept, and not the text of the body.
  const { promptText } = request;
  const { value } = request.body;
  const estimate = (produced: TextTally) =>
    promptText === undefined
      ? estimator.usageOf(value, produced)
      : estimator.usageOfPrompt(promptText(), produced);
  const replying = gateway
    .answer({ model, request, maxTokens: paidTokens(paid), signal, accountId, memory, estimate })
    .then(
      (routed): Reply | Promise<Reply> => {
        const timeToFirstTokenMs = Math.round(monotonicMs() - startedMs);
        const factsOf = factsOfAnswer(routed, { costBasis, estimate, timeToFirstTokenMs });
        return routed.answer.kind === "stream"
          ? streamReply(routed.answer, factsOf, store)
          : wholeReply(routed.answer, factsOf, store);
      },
      (thrown: unknown) => rethrowCounted(thrown, signal, () => estimate(new TextTally())),
    );
  if (!request.stream) return replying;
  const { earlyControlEvents } = request;
  // A proxy may close a silent connection. After this time the stream begins, and a later failure is an event in it.
  return resultWithin(HEARTBEAT_MS, replying).then(
    (reply) => reply ?? earlyStream(costBasis, earlyControlEvents, replying),
  );
}

/**
 * Rethrows a failure. If the client has disconnected after the upstream got the request, the usage of the prompt is added: upstreams charge for a
 * prompt whether or not the client waits for the answer.
 */
export async function rethrowCounted(
  thrown: unknown,
  { cause }: ModelCall<unknown>["signal"],
  countPrompt: () => Promise<Usage>,
): Promise<never> {
  if (cause !== "client_gone" || !(thrown instanceof RoutesFailed) || !thrown.wasAbortedAtUpstream)
    throw thrown;
  throw new RoutesFailed(thrown.upstream, thrown.reason, await countPrompt());
}

function wholeReply(
  answer: WholeAnswer,
  factsOf: FactsOf,
  store: StoreAnswer | null,
): WholeReply | Promise<WholeReply> {
  const headers = withIgnored(JSON_HEADERS, answer.ignored);
  const facts = factsOf(answer.usage);
  const isUnchanged = answer.usage !== null && store === null && !(facts instanceof Promise);
  if (isUnchanged) return { kind: "whole", headers, body: answer.body, facts };
  return changedReply(answer, headers, facts, store);
}

/** An answer to which the service adds its own count of the tokens, or what follows from storing it. */
async function changedReply(
  answer: WholeAnswer,
  headers: ResponseHeaders,
  found: ReturnType<FactsOf>,
  store: StoreAnswer | null,
): Promise<WholeReply> {
  const facts = await found;
  const counted = answer.usage === null ? (answer.estimated?.(facts.usage) ?? {}) : {};
  const stored = () => ({ ...JSON.parse(answer.stored?.() ?? answer.body), ...counted });
  const changes = { ...counted, ...(store === null ? {} : await store(stored())) };
  const isChanged = Object.keys(changes).length > 0;
  const body = (isChanged ? JsonBody.parse(answer.body)?.textWith(changes) : null) ?? answer.body;
  return { kind: "whole", headers, body, facts };
}

function streamReply(answer: StreamedAnswer, factsOf: FactsOf, store: StoreAnswer | null): StreamReply {
  let found: ReturnType<FactsOf> | null = null;
  const facts = () => {
    found ??= factsOf(answer.usage());
    return found;
  };
  let usage = NO_USAGE;
  let changes: JsonObject = {};
  /** All events but the last, and then the storing of the answer. */
  const eventsUntilStored = async function* (storeAnswer: StoreAnswer) {
    yield* answer.events;
    const stored = answer.stored?.((await facts()).usage);
    if (stored !== undefined) changes = await storeAnswer(JSON.parse(stored));
  };
  return {
    kind: "stream",
    headers: withIgnored(EVENT_STREAM_HEADERS, answer.ignored()),
    chunks: store === null ? answer.events : eventsUntilStored(store),
    facts: async () => {
      const known = await facts();
      usage = known.usage;
      return known;
    },
    last: () => answer.last(usage, changes),
    controlEvents: answer.controlEvents,
    failureOf: upstreamFailure,
  };
}

/** A stream that begins before the upstream has answered: a failure after that is an event in it. */
function earlyStream(
  costBasis: CostBasis,
  earlyControlEvents: ControlEvents,
  replying: Promise<Reply>,
): StreamReply {
  let reply: StreamReply | null = null;
  let facts: EntryFacts = factsWithoutUsage(costBasis.model.id);
  // The stream reports it, if the client is still connected.
  replying.catch(() => {});
  const chunks = async function* () {
    yield HEARTBEAT;
    const begun = await replying.catch((thrown: unknown): never => {
      if (thrown instanceof RoutesFailed) facts = factsOfFailure(thrown, costBasis);
      throw thrown;
    });
    if (begun.kind !== "stream") throw new Error("a stream was asked for");
    reply = begun;
    yield* begun.chunks;
  };
  return {
    kind: "stream",
    isEarly: true,
    headers: EVENT_STREAM_HEADERS,
    chunks: chunks(),
    facts: async () => reply?.facts() ?? facts,
    last: () => reply?.last() ?? "",
    controlEvents: {
      heartbeat: () => reply?.controlEvents?.heartbeat() ?? HEARTBEAT,
      failure: (failure) => (reply?.controlEvents ?? earlyControlEvents).failure(failure),
    },
    failureOf: upstreamFailure,
  };
}

/**
 * Names the fields that were left out, which was found too late to refuse them, or did not change the request's meaning. The names may
 * be the client's own.
 */
function withIgnored(headers: ResponseHeaders, fields: readonly string[]): ResponseHeaders {
  if (fields.length === 0) return headers;
  const names = fields.slice(0, MAX_IGNORED_NAMES).map((name) =>
    withoutSecrets(name)
      .replace(/[^\w. -]/g, "_")
      .slice(0, MAX_IGNORED_LENGTH),
  );
  if (fields.length > names.length) names.push(`and ${fields.length - names.length} more`);
  return { ...headers, "ostiary-ignored-fields": names.join(", ") };
}
