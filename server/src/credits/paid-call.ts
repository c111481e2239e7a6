import type { CatalogModel } from "../catalog/catalog.ts";
import type { Hold } from "./allowance.ts";
import { maxAnswerTokens, type PricedRequest } from "./price-request.ts";

/** A request for a model, with the credit that is held for it. */
export interface PaidCall {
  readonly model: CatalogModel;
  readonly priced: PricedRequest;
  readonly hold: Hold;
  /** How long each answer may be where credit covers the request only in part; `null`: as long as was asked for. */
  readonly affordableTokens: number | null;
}

/** How long each answer is paid for; `null`: it costs nothing. */
export function paidTokens({ model, priced, affordableTokens }: PaidCall): number | null {
  return model.prices === null ? null : (affordableTokens ?? maxAnswerTokens(priced));
}
