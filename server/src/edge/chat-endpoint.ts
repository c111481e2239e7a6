import { z } from "zod";
import type { AccountId } from "../accounts/account.ts";
import type { EndReason } from "../audit/entry.ts";
import type { Catalog, CatalogModel } from "../catalog/catalog.ts";
import { costOf } from "../catalog/prices.ts";
import type { Hold } from "../credits/allowance.ts";
import type { Credits } from "../credits/credits.ts";
import { affordableTokens, type PricedRequest, rangeOf } from "../credits/price-request.ts";
import { Failure, toFailure } from "../errors/failure.ts";
import type { Usage } from "../gateway/dialect.ts";
import { type Gateway, RoutesFailed } from "../gateway/gateway.ts";
import { isJsonObject, type JsonObject } from "../gateway/json.ts";
import type { TextTally } from "../gateway/text-tally.ts";
import type { TokenEstimator } from "../gateway/token-estimate.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { TransportError } from "../upstream/transport.ts";
import {
  type Endpoint,
  type EndpointRequest,
  type EntryFacts,
  EVENT_STREAM_HEADERS,
  JSON_HEADERS,
  NO_FACTS,
  type Reply,
} from "./endpoint.ts";
import { answerOnce, LAST_EVENT } from "./idempotent-reply.ts";
import { readJsonObject } from "./json-body.ts";
import { exactPath } from "./routing.ts";

const maxTokens = z.number().int().min(0).max(1_000_000_000).nullish();

/** What the gateway itself relies on; everything else is the upstream's to judge. */
const chatBody = z.looseObject({
  model: z.string({ error: "must be a string: the id of a model of `GET /v1/models`" }).min(1).max(256),
  messages: z
    .array(z.looseObject({ role: z.string() }), { error: "must be an array of messages" })
    .min(1, "must hold at least one message")
    .max(10_000),
  stream: z.boolean().nullish(),
  n: z.number().int().min(1).max(128).nullish(),
  max_tokens: maxTokens,
  max_completion_tokens: maxTokens,
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
});

export interface ChatParts {
  readonly catalog: Catalog;
  readonly gateway: Gateway;
  readonly credits: Credits;
  readonly idempotency: Idempotency;
  /** Counts tokens where an upstream does not. */
  readonly estimator: TokenEstimator;
  readonly maxBodyBytes: number;
}

type ToldUsage = Pick<EntryFacts, "usage" | "usageSource">;

/** `POST /v1/chat/completions`. */
export class ChatEndpoint implements Endpoint {
  readonly method = "POST";
  readonly name = "POST /v1/chat/completions";
  readonly match = exactPath("/v1/chat/completions");
  readonly #parts: ChatParts;

  constructor(parts: ChatParts) {
    this.#parts = parts;
  }

  async answer(request: EndpointRequest): Promise<Reply> {
    const { value: body, bytes } = await readJsonObject(request.exchange, this.#parts.maxBodyBytes);
    const asked = parseChat(body);
    const model = this.#parts.catalog.find(asked.model);
    const accountId = await request.confirm(estimatedTokens(bytes.length, asked.maxTokens));
    if (model === null) return unknownModel(asked.model);
    const { idempotency } = this.#parts;
    return answerOnce(request, { idempotency, accountId, endpoint: this.name, body: bytes }, () =>
      this.#serve(request, accountId, { body, bytes: bytes.length, model, asked }),
    );
  }

  async #serve(
    request: EndpointRequest,
    accountId: AccountId,
    { body, bytes, model, asked }: ReadChat,
  ): Promise<Reply> {
    const priced: PricedRequest = { model, bytes, maxTokens: asked.maxTokens, choices: asked.choices };
    const hold = await this.#hold(accountId, priced);
    if (hold instanceof Failure) {
      const facts = { ...NO_FACTS, model: model.id };
      return { kind: "failed", failure: hold, endReason: "refused", facts };
    }
    request.begin(model.id, hold);
    return this.#forward(request, withinBudget(body, priced, hold), model, asked.stream, hold);
  }

  /** Credit for the request at its dearest; or why there is none. */
  async #hold(accountId: AccountId, priced: PricedRequest): Promise<Hold | Failure> {
    try {
      return await this.#parts.credits.hold(accountId, rangeOf(priced));
    } catch (thrown) {
      return toFailure(thrown);
    }
  }

  async #forward(
    request: EndpointRequest,
    body: JsonObject,
    model: CatalogModel,
    stream: boolean,
    hold: Hold,
  ): Promise<Reply> {
    const { estimator } = this.#parts;
    const facts = (upstream: string, firstTokenMs: number | null, told: ToldUsage): EntryFacts => ({
      model: model.id,
      upstream,
      ...told,
      costNanoUsd: chargeOf(told.usage, model, hold),
      timeToFirstTokenMs: firstTokenMs,
    });
    const toldOrEstimated = async (usage: Usage | null, produced: () => TextTally): Promise<ToldUsage> =>
      usage === null
        ? { usage: await estimator.usageOf(body, produced()), usageSource: "estimated" }
        : { usage, usageSource: "upstream" };
    try {
      const answer = await this.#parts.gateway.chat({
        model,
        body,
        stream,
        includeUsage: isJsonObject(body.stream_options) && body.stream_options.include_usage === true,
        signal: request.signal,
      });
      const firstTokenMs = request.elapsedMs();
      if (answer.kind === "whole") {
        const told = await toldOrEstimated(answer.usage, answer.produced);
        const whole = facts(answer.upstream, firstTokenMs, told);
        return { kind: "whole", headers: JSON_HEADERS, body: answer.body, facts: whole };
      }
      return {
        kind: "stream",
        headers: EVENT_STREAM_HEADERS,
        chunks: answer.events,
        lastChunk: LAST_EVENT,
        atFailure: "event",
        facts: async () =>
          facts(answer.upstream, firstTokenMs, await toldOrEstimated(answer.usage(), answer.produced)),
        failureOf: upstreamFailure,
      };
    } catch (thrown) {
      if (!(thrown instanceof RoutesFailed)) throw thrown;
      const failure = upstreamFailure(thrown.reason);
      return {
        kind: "failed",
        failure,
        endReason: endReasonOf(failure),
        facts: facts(thrown.upstream, null, { usage: null, usageSource: "none" }),
      };
    }
  }
}

/** A chat request that may be served. */
interface ReadChat {
  readonly body: JsonObject;
  readonly bytes: number;
  readonly model: CatalogModel;
  readonly asked: AskedChat;
}

interface AskedChat {
  readonly model: string;
  readonly stream: boolean;
  /** The most that the answer may have; `null`: as many as the model gives. */
  readonly maxTokens: number | null;
  readonly choices: number;
}

function parseChat(body: JsonObject): AskedChat {
  const parsed = chatBody.safeParse(body);
  if (parsed.success) {
    const { model, stream, max_completion_tokens: most, max_tokens: mostOnce, n } = parsed.data;
    return { model, stream: stream === true, maxTokens: most ?? mostOnce ?? null, choices: n ?? 1 };
  }
  const [issue] = parsed.error.issues;
  const param = issue?.path.join(".") ?? "body";
  throw new Failure("invalid_request", `${param}: ${issue?.message ?? "is not valid"}`, { param });
}

/** Whatever an upstream says that it took: never more than was held for it. */
function chargeOf(usage: Usage | null, { prices }: CatalogModel, hold: Hold): bigint {
  if (usage === null || prices === null) return 0n;
  const cost = costOf(usage, prices);
  if (cost <= hold.amountNanoUsd) return cost;
  return hold.amountNanoUsd;
}

/** Where there is less credit than the request may cost, what can be paid is what is asked of the upstream. */
function withinBudget(body: JsonObject, priced: PricedRequest, hold: Hold): JsonObject {
  const tokens = affordableTokens(priced, hold.amountNanoUsd);
  if (tokens === null) return body;
  return typeof body.max_completion_tokens === "number"
    ? { ...body, max_completion_tokens: tokens }
    : { ...body, max_tokens: tokens };
}

/** About 4 bytes of text are a token. What the request takes in the end takes the place of this. */
function estimatedTokens(bytes: number, maxTokens: number | null): number {
  return Math.ceil(bytes / 4) + (maxTokens ?? 0);
}

function unknownModel(asked: string): Reply {
  return {
    kind: "failed",
    failure: new Failure(
      "model_not_found",
      "The catalog has no such model. `GET /v1/models` lists those it has.",
      { param: "model" },
    ),
    endReason: "refused",
    // What a client sends goes into the log as text: without characters that text can't hold, and without a key that
    // was put into the wrong field.
    facts: { ...NO_FACTS, model: withoutSecrets(asked.replace(/[\p{Cc}\p{Cs}]/gu, "\u{fffd}")) },
  };
}

/** What an upstream's failure means for the client. */
function upstreamFailure(thrown: unknown): Failure {
  if (!(thrown instanceof TransportError)) return toFailure(thrown);
  if (thrown.fault === "timeout") {
    return new Failure("upstream_timeout", "The model's server took too long. Try again, or ask for less.", {
      cause: thrown,
    });
  }
  const message =
    thrown.fault === "connect"
      ? "The model's server can't be reached. Try again, or choose another model."
      : "The model's server broke off its answer. Try again, or choose another model.";
  return new Failure("upstream_error", message, { cause: thrown });
}

function endReasonOf(failure: Failure): EndReason {
  if (failure.status < 500) return "refused";
  return failure.code === "upstream_timeout" ? "timeout" : "upstream_error";
}
