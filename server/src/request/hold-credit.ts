import type { CatalogModel } from "../catalog/catalog.ts";
import type { AccountId } from "../contract/account.ts";
import type { Hold, HoldRange } from "../credits/allowance.ts";
import { affordableTokens, type CostBasis, type PaidCall, rangeOf } from "../credits/request-cost.ts";
import type { ModelUse } from "../operations/operation.ts";
import type { RequestContext } from "./request-context.ts";
import type { Services } from "./services.ts";

/** Gathers what the cost of a request with a body of this length is computed from. */
export function costBasisOf(
  model: CatalogModel,
  { maxTokens, choices, prompts, images, files, storedBytes = 0 }: ModelUse,
  bodyBytes: number,
): CostBasis {
  return { model, bytes: bodyBytes + storedBytes, maxTokens, choices, prompts, images, files };
}

/**
 * Holds credit for the request's maximum cost, or for as much of it as the account has. It is settled when the request is recorded. Only if
 * the node has to reserve more is there something to wait for.
 *
 * @throws {Failure} `credit_balance_exhausted`; `server_is_overloaded` when the database does not answer.
 */
export function holdCredit(
  request: RequestContext,
  accountId: AccountId,
  costBasis: CostBasis,
  { credits }: Services,
): PaidCall | Promise<PaidCall> {
  const range = rangeOf(costBasis);
  const hold = credits.holdAtOnce(accountId, range);
  if (hold !== null) return noteHold(hold, range, request, costBasis);
  return credits.hold(accountId, range).then((reserved) => noteHold(reserved, range, request, costBasis));
}

/** Notes the hold in the context. Returns how much of the answer it pays for. */
function noteHold(
  hold: Hold,
  { maxNanoUsd }: HoldRange,
  request: RequestContext,
  costBasis: CostBasis,
): PaidCall {
  request.costBasis = costBasis;
  request.hold = hold;
  const isPaidInFull = hold.amountNanoUsd >= maxNanoUsd;
  return {
    costBasis,
    hold,
    affordableTokens: isPaidInFull ? null : affordableTokens(costBasis, hold.amountNanoUsd),
  };
}
