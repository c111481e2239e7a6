import type { ListedModel } from "../api/types.ts";
import { formatUsd } from "./format.ts";
import textStyles from "./text.module.css";

type Prices = NonNullable<ListedModel["prices"]>;

/** The details of a model in a table: the prices that its columns do not show, on one line; `null` if there are none. */
export function specialPrices(prices: Prices | null) {
  const special = prices === null ? [] : specialPricesOf(prices);
  if (special.length === 0) return null;
  return <span className={textStyles.small}>Also per 1M tokens: {special.join(", ")}</span>;
}

/** The prices that differ from those of other tokens of a prompt or an answer: "$3.75 cache write", "$6.00 1 h cache write". */
function specialPricesOf(prices: Prices): readonly string[] {
  const { inputNanoUsdPerMTok: input, outputNanoUsdPerMTok: output } = prices;
  const parts: readonly (readonly [label: string, nanoUsd: bigint, usual: bigint])[] = [
    ["cache write", prices.cacheWriteNanoUsdPerMTok, input],
    ["1 h cache write", prices.cacheWrite1hNanoUsdPerMTok, prices.cacheWriteNanoUsdPerMTok],
    ["audio in", prices.audioInputNanoUsdPerMTok, input],
    ["images in", prices.imageInputNanoUsdPerMTok, input],
    ["reasoning", prices.reasoningNanoUsdPerMTok, output],
    ["audio out", prices.audioOutputNanoUsdPerMTok, output],
    ["images out", prices.imageOutputNanoUsdPerMTok, output],
  ];
  return parts
    .filter(([, nanoUsd, usual]) => nanoUsd !== usual)
    .map(([label, nanoUsd]) => `${formatUsd(nanoUsd)} ${label}`);
}
