import { formatCounted } from "../../components/format.ts";

/** The number of whole days that the rate is averaged over. */
export const RATE_DAYS = 7;
/** Below this number of days, the balance counts as low. */
const LOW_DAYS = 3;
/** A longer forecast is shown as "more than a year". */
const FAR_DAYS = 365;

/**
 * `empty`: no paid request is possible. `short`: less is left than a request has cost on average. `low`: the balance runs out in less than
 * {@link LOW_DAYS} days at the present rate. `unknown`: what was spent could not be loaded. `ample`: none of these.
 */
export type CreditState = "empty" | "short" | "low" | "unknown" | "ample";

interface Outlook {
  readonly words: string;
  readonly state: CreditState;
}

/** Amounts in nano-USD. */
interface CreditFigures {
  readonly balanceNanoUsd: bigint;
  /** The amount spent in the last {@link RATE_DAYS} whole days. */
  readonly spentNanoUsd: bigint;
  /** The amount spent since the last of these days. */
  readonly todayNanoUsd: bigint;
  /** The average cost of a successful request in these days and today; 0 if there was none. */
  readonly requestNanoUsd: bigint;
}

const EMPTY: Outlook = {
  words: "Paid requests are refused with 402 until credit is added.",
  state: "empty",
};
const UNKNOWN: Outlook = {
  words: `The spend of the last ${RATE_DAYS} days could not be loaded.`,
  state: "unknown",
};

/** What a balance alone tells, without the usage; `undefined` while that may still be loaded, unless nothing is left. */
export function outlookOfBalance(balanceNanoUsd: bigint, isUsageLost: boolean): Outlook | undefined {
  if (balanceNanoUsd <= 0n) return EMPTY;
  return isUsageLost ? UNKNOWN : undefined;
}

/** How long a balance lasts at the rate of the last {@link RATE_DAYS} days, or at today's where today has cost more than such a day. */
export function outlookOf(figures: CreditFigures): Outlook {
  const { balanceNanoUsd, spentNanoUsd, todayNanoUsd, requestNanoUsd } = figures;
  if (balanceNanoUsd <= 0n) return EMPTY;
  if (balanceNanoUsd < requestNanoUsd) {
    return {
      words: "Less than your average request costs. Paid requests may be cut short or refused with 402.",
      state: "short",
    };
  }
  const averageNanoUsd = Number(spentNanoUsd) / RATE_DAYS;
  const isToday = Number(todayNanoUsd) > averageNanoUsd;
  const rateNanoUsd = isToday ? Number(todayNanoUsd) : averageNanoUsd;
  if (rateNanoUsd <= 0) return { words: `No spend in the last ${RATE_DAYS} days.`, state: "ample" };
  const days = Number(balanceNanoUsd) / rateNanoUsd;
  const rate = isToday ? "today's spend" : `the average spend of the last ${RATE_DAYS} days`;
  return { words: `Lasts ${daysInWords(days)} at ${rate}.`, state: days < LOW_DAYS ? "low" : "ample" };
}

function daysInWords(days: number): string {
  if (days < 1) return "less than a day";
  if (days > FAR_DAYS) return "more than a year";
  const whole = Math.floor(days);
  return `about ${formatCounted(whole, "day")}`;
}

interface DayOfUsage {
  readonly start: Date;
  readonly requests: number;
  readonly errors: number;
  readonly costNanoUsd: bigint;
}

/** What a balance is compared with, from the usage of the last {@link RATE_DAYS} whole days and of today. */
export function spendOf(days: readonly DayOfUsage[], today: Date): Omit<CreditFigures, "balanceNanoUsd"> {
  let spentNanoUsd = 0n;
  let todayNanoUsd = 0n;
  let requests = 0;
  for (const day of days) {
    if (day.start < today) spentNanoUsd += day.costNanoUsd;
    else todayNanoUsd += day.costNanoUsd;
    requests += day.requests - day.errors;
  }
  const costNanoUsd = spentNanoUsd + todayNanoUsd;
  return {
    spentNanoUsd,
    todayNanoUsd,
    requestNanoUsd: requests > 0 ? costNanoUsd / BigInt(requests) : 0n,
  };
}
