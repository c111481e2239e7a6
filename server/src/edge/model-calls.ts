import type { AccountId } from "../accounts/account.ts";
import type { EndReason } from "../audit/entry.ts";
import type { Catalog, CatalogModel } from "../catalog/catalog.ts";
import type { Hold, HoldRange } from "../credits/allowance.ts";
import type { Credits } from "../credits/credits.ts";
import { affordableTokens, longestAnswer, type PricedRequest, rangeOf } from "../credits/price-request.ts";
import { Failure, toFailure } from "../errors/failure.ts";
import { RoutesFailed } from "../gateway/gateway.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { UpstreamRefused } from "../upstream/dialect.ts";
import { TransportError } from "../upstream/transport.ts";
import { type EndpointRequest, type EntryFacts, NO_FACTS, type Reply } from "./endpoint.ts";
import { answerOnce } from "./idempotent-reply.ts";
import type { ReadBody } from "./json-body.ts";

export interface ModelCallParts {
  readonly catalog: Catalog;
  readonly credits: Credits;
  readonly idempotency: Idempotency;
}

/** What is asked of a model, as far as it bears on limits and credit. */
export interface AskedOfModel {
  readonly model: string;
  /** The most that each answer may have; `null`: as many as the model gives. */
  readonly maxTokens: number | null;
  readonly choices: number;
  /** See {@link PricedRequest}. */
  readonly prompts: number;
  readonly images: number;
  readonly files: number;
}

/** A request that is admitted and paid for. */
export interface PaidCall {
  readonly model: CatalogModel;
  readonly priced: PricedRequest;
  readonly hold: Hold;
  /** How long each answer may be where there is less credit than the request may cost; `null`: as long as was asked for. */
  readonly affordableTokens: number | null;
}

/** What all requests for models have in common once they are admitted: doing it once, credit, and what their failures mean. */
export class ModelCalls {
  readonly #parts: ModelCallParts;

  constructor(parts: ModelCallParts) {
    this.#parts = parts;
  }

  /** `endpoint`: as audit entries name it. `read`: what was admitted. */
  async answer(
    request: EndpointRequest,
    { endpoint, read, asked }: { endpoint: string; read: ReadBody; asked: AskedOfModel },
    forward: (call: PaidCall) => Promise<Reply>,
  ): Promise<Reply> {
    const model = this.#parts.catalog.find(asked.model);
    const { accountId, bytes } = read;
    if (model === null) return unknownModel(asked.model);
    const { maxTokens, choices, prompts, images, files } = asked;
    const priced: PricedRequest = { model, bytes: bytes.length, maxTokens, choices, prompts, images, files };
    const { idempotency } = this.#parts;
    return await answerOnce(request, { idempotency, accountId, endpoint, body: bytes }, async () => {
      const range = rangeOf(priced);
      const hold = this.#parts.credits.holdAtOnce(accountId, range) ?? (await this.#hold(accountId, range));
      if (hold instanceof Failure) return failed(hold, "refused", { ...NO_FACTS, model: model.id });
      request.begin(model.id, hold);
      try {
        const held = hold.amountNanoUsd;
        const affordable = held >= range.mostNanoUsd ? null : affordableTokens(priced, held);
        return await forward({ model, priced, hold, affordableTokens: affordable });
      } catch (thrown) {
        if (thrown instanceof Failure) return failed(thrown, "refused", { ...NO_FACTS, model: model.id });
        if (!(thrown instanceof RoutesFailed)) throw thrown;
        const failure = upstreamFailure(thrown.reason);
        const facts = { ...NO_FACTS, model: model.id, upstream: thrown.upstream };
        return failed(failure, endReasonOf(failure), facts);
      }
    });
  }

  /** Credit for the request at its dearest; or why there is none. */
  async #hold(accountId: AccountId, range: HoldRange): Promise<Hold | Failure> {
    try {
      return await this.#parts.credits.hold(accountId, range);
    } catch (thrown) {
      return toFailure(thrown);
    }
  }
}

/** How long each answer is paid for; `null`: it costs nothing. */
export function paidTokens({ model, priced, affordableTokens }: PaidCall): number | null {
  return model.prices === null ? null : (affordableTokens ?? longestAnswer(priced));
}

/** What an upstream's failure means for the client. */
export function upstreamFailure(thrown: unknown): Failure {
  if (thrown instanceof RoutesFailed) return upstreamFailure(thrown.reason);
  if (thrown instanceof UpstreamRefused) return thrown.failure;
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

function failed(failure: Failure, endReason: EndReason, facts: EntryFacts): Reply {
  return { kind: "failed", failure, endReason, facts };
}

function unknownModel(asked: string): Reply {
  const failure = new Failure(
    "model_not_found",
    "The catalog has no such model. `GET /v1/models` lists those it has.",
    { param: "model" },
  );
  // The entry has the name that was asked for; usage counts all of them under one (`usage_model` in the database).
  // What a client sends goes into the log as text: without characters that text can't hold, and without a key that was put
  // into the wrong field.
  const model = withoutSecrets(asked.replace(/[\p{Cc}\p{Cs}]/gu, "\u{fffd}"));
  return failed(failure, "refused", { ...NO_FACTS, model });
}

function endReasonOf(failure: Failure): EndReason {
  if (failure.status < 500) return "refused";
  return failure.code === "upstream_timeout" ? "timeout" : "upstream_error";
}
