import type { UsageTotals } from "../../api/types.ts";
import {
  formatCount,
  formatCountBriefly,
  formatUsdBriefly,
  formatUsdRoughly,
} from "../../components/format.ts";
import { tokensOf } from "./groups.ts";

/** A figure of usage that has a chart, and a column of the table. */
export interface Measure {
  readonly name: string;
  readonly read: (totals: UsageTotals) => number;
  readonly format: (value: number) => string;
  readonly formatTick: (value: number, ticks: readonly number[]) => string;
}

const nanoUsd = (value: number) => BigInt(Math.round(value));
const counted = { format: formatCount, formatTick: formatCountBriefly };

export const MEASURES: readonly Measure[] = [
  { name: "Requests", read: ({ requests }) => requests, ...counted },
  { name: "Errors", read: ({ errors }) => errors, ...counted },
  { name: "Tokens", read: tokensOf, ...counted },
  {
    name: "Cost",
    read: ({ costNanoUsd }) => Number(costNanoUsd),
    format: (value) => formatUsdRoughly(nanoUsd(value)),
    formatTick: (value, ticks) => formatUsdBriefly(nanoUsd(value), ticks.map(nanoUsd)),
  },
];

/** The kinds of tokens. They add up to all tokens. */
export const TOKEN_KINDS: readonly Pick<Measure, "name" | "read">[] = [
  { name: "Input", read: ({ promptTokens, cachedTokens }) => Math.max(0, promptTokens - cachedTokens) },
  { name: "Cached input", read: ({ cachedTokens }) => cachedTokens },
  { name: "Output", read: ({ completionTokens }) => completionTokens },
];
