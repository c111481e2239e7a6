import type { ListedModel } from "../../api/types.ts";
import type { Sort } from "./search.ts";

type Comparison = (one: ListedModel, other: ListedModel) => number;

const byId: Comparison = (one, other) => one.id.localeCompare(other.id, "en", { numeric: true });

const COMPARISONS: Readonly<Record<Sort, Comparison>> = {
  id: byId,
  context: (one, other) => (other.contextTokens ?? 0) - (one.contextTokens ?? 0) || byId(one, other),
  price: (one, other) => Number(priceOf(one) - priceOf(other)) || byId(one, other),
};

/** A sorted copy: by id, by longest context, or by lowest price. */
export function sortModels(models: readonly ListedModel[], sort: Sort): readonly ListedModel[] {
  return models.toSorted(COMPARISONS[sort]);
}

/** The price of an input token and an output token together; 0 for free models. */
function priceOf({ prices }: ListedModel): bigint {
  return prices === null ? 0n : prices.inputNanoUsdPerMTok + prices.outputNanoUsdPerMTok;
}
