import { HEARTBEAT } from "../conversation/signs.ts";
import type { StreamSigns, WireRequest } from "../conversation/wire.ts";
import { chargeFor, paidTokens } from "../credits/price-request.ts";
import { resultWithin } from "../errors/deadline.ts";
import { type Gateway, type Routed, RoutesFailed } from "../gateway/gateway.ts";
import { upstreamFailure } from "../gateway/upstream-failure.ts";
import type { JsonObject } from "../json/json.ts";
import { JsonBody } from "../json/json-body.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import type { TextTally } from "../tokens/text-tally.ts";
import type { TokenEstimator, Usage } from "../tokens/token-estimate.ts";
import type { StreamedAnswer, WireAnswer } from "../upstream/dialect.ts";
import {
  type EntryFacts,
  EVENT_STREAM_HEADERS,
  HEARTBEAT_MS,
  JSON_HEADERS,
  type ModelCall,
  NO_FACTS,
  type Reply,
  type ResponseHeaders,
  type StreamReply,
} from "./operation.ts";

export interface ModelOperationParts {
  readonly gateway: Gateway;
  /** Counts tokens where an upstream does not. */
  readonly estimator: TokenEstimator;
  readonly maxBodyBytes: number;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

export interface AnswerOptions {
  readonly request: WireRequest;
  /**
   * Called with the answer as it is to be stored, before its last byte is sent. Resolves with the members of the answer that
   * change thereby. The answer fails if it throws.
   */
  readonly complete?: (answer: JsonObject) => Promise<JsonObject>;
}

type AnswerCall = Pick<ModelCall<unknown>, "paid" | "signal" | "startedMs">;
type ReportedUsage = Pick<EntryFacts, "usage" | "usageSource">;

/**
 * Has a request of any wire answered by its model.
 *
 * @throws {Failure} when the request can't be expressed for the model.
 * @throws {RoutesFailed} when no upstream answered.
 */
export async function runAnswer(
  parts: ModelOperationParts,
  call: AnswerCall,
  options: AnswerOptions,
): Promise<Reply> {
  const { paid, signal } = call;
  const { request } = options;
  const answering = parts.gateway.answer({
    model: paid.model,
    request,
    maxTokens: paidTokens(paid),
    signal,
    estimate: (produced) => estimateOf(parts, request, produced),
  });
  const answer = new Answering(parts, call, options);
  if (!request.stream) return await answer.replyOf(await answering);
  // A proxy may close a silent connection. After this time the stream begins, and a later failure is an event in it.
  const routed = await resultWithin(HEARTBEAT_MS, answering);
  return routed === null
    ? lateReply(paid.model.id, request.early, answer, answering)
    : await answer.replyOf(routed);
}

/** One request whose answer is awaited. */
class Answering {
  readonly #parts: ModelOperationParts;
  readonly #call: AnswerCall;
  readonly #options: AnswerOptions;

  constructor(parts: ModelOperationParts, call: AnswerCall, options: AnswerOptions) {
    this.#parts = parts;
    this.#call = call;
    this.#options = options;
  }

  async replyOf({ answer, upstream }: Routed<WireAnswer>): Promise<Reply> {
    const timeToFirstTokenMs = Math.round(this.#parts.monotonicMs() - this.#call.startedMs);
    const { model, priced } = this.#call.paid;
    const factsOf = ({ usage, usageSource }: ReportedUsage): EntryFacts => ({
      model: model.id,
      upstream,
      usage,
      usageSource,
      ...chargeFor(priced, usage),
      timeToFirstTokenMs,
    });
    if (answer.kind === "stream") return this.#streamReply(answer, factsOf);
    const facts = factsOf(reported(answer.usage) ?? (await this.#estimated(answer)));
    const headers = withIgnored(JSON_HEADERS, answer.ignored);
    const { complete } = this.#options;
    const isCounted = answer.usage === null && facts.usage !== null;
    const counted = isCounted ? (answer.estimated?.(facts.usage) ?? {}) : {};
    const stored = () => ({ ...JSON.parse(answer.stored?.() ?? answer.body), ...counted });
    const changes = complete === undefined ? {} : await complete(stored());
    return { kind: "whole", headers, body: withChanges(answer.body, { ...counted, ...changes }), facts };
  }

  #streamReply(answer: StreamedAnswer, factsOf: (usage: ReportedUsage) => EntryFacts): StreamReply {
    const { complete } = this.#options;
    let counted: Promise<ReportedUsage> | null = null;
    const usageOf = () => {
      const known = reported(answer.usage());
      counted ??= known === null ? this.#estimated(answer) : Promise.resolve(known);
      return counted;
    };
    let changes: JsonObject = {};
    const noteChanges = (found: JsonObject) => {
      changes = found;
    };
    let last = (): string => answer.last(NO_USAGE, changes);
    return {
      kind: "stream",
      headers: withIgnored(EVENT_STREAM_HEADERS, answer.ignored()),
      chunks:
        complete === undefined
          ? answer.events
          : completed(answer, usageOf, async (stored) => noteChanges(await complete(stored))),
      facts: async () => {
        const found = await usageOf();
        last = () => answer.last(found.usage ?? NO_USAGE, changes);
        return factsOf(found);
      },
      last: () => last(),
      signs: answer.signs,
      failureOf: upstreamFailure,
    };
  }

  /** What the upstream has reported of the prompt is believed even if it has not reported the rest. */
  async #estimated(answer: WireAnswer): Promise<ReportedUsage> {
    const estimate = await estimateOf(this.#parts, this.#options.request, answer.produced());
    const prompt = answer.kind === "stream" ? answer.promptUsage?.() : null;
    const usage = { ...estimate, ...prompt, completionTokens: estimate.completionTokens };
    return { usage, usageSource: "estimated" };
  }
}

function estimateOf(
  { estimator }: ModelOperationParts,
  request: WireRequest,
  produced: TextTally,
): Promise<Usage> {
  const prompt = request.promptText?.();
  return prompt === undefined
    ? estimator.usageOf(request.body.value, produced)
    : estimator.usageOfPrompt(prompt, produced);
}

const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

function withChanges(body: string, changes: JsonObject): string {
  if (Object.keys(changes).length === 0) return body;
  return JsonBody.parse(body)?.textWith(changes) ?? body;
}

/** The events of a stream. When all are sent, the answer is handed over to be stored before its last event. */
async function* completed(
  answer: StreamedAnswer,
  usageOf: () => Promise<ReportedUsage>,
  complete: (answer: JsonObject) => Promise<void>,
): AsyncGenerator<string> {
  yield* answer.events;
  const { usage } = await usageOf();
  const stored = answer.stored?.(usage ?? NO_USAGE);
  if (stored !== undefined) await complete(JSON.parse(stored));
}

/** A stream that begins before the upstream has answered: a failure after that is an event in it. */
function lateReply(
  model: string,
  early: StreamSigns,
  answer: Answering,
  answering: Promise<Routed<WireAnswer>>,
): StreamReply {
  let reply: StreamReply | null = null;
  let facts = async (): Promise<EntryFacts> => ({ ...NO_FACTS, model });
  const noteUpstream = (thrown: unknown): never => {
    const upstream = thrown instanceof RoutesFailed ? thrown.upstream : null;
    facts = async () => ({ ...NO_FACTS, model, upstream });
    throw thrown;
  };
  // The stream reports it, if the client is still connected.
  answering.catch(() => {});
  const chunks = async function* () {
    yield HEARTBEAT;
    const late = await answer.replyOf(await answering.catch(noteUpstream));
    if (late.kind !== "stream") throw new Error("a stream was asked for");
    reply = late;
    facts = late.facts;
    yield* late.chunks;
  };
  return {
    kind: "stream",
    headers: EVENT_STREAM_HEADERS,
    chunks: chunks(),
    facts: () => facts(),
    last: () => reply?.last() ?? "",
    signs: {
      heartbeat: () => reply?.signs?.heartbeat() ?? HEARTBEAT,
      failure: (failure) => (reply?.signs ?? early).failure(failure),
    },
    failureOf: upstreamFailure,
  };
}

function reported(usage: Usage | null): ReportedUsage | null {
  return usage === null ? null : { usage, usageSource: "upstream" };
}

const MAX_IGNORED_NAMES = 32;
const MAX_IGNORED_LENGTH = 64;

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
