/** The number of whole days that the rate is averaged over. */
export const RATE_DAYS = 7;
/** Below this number of days, the balance counts as short. */
const SHORT_DAYS = 3;
/** A longer forecast is shown as "more than a year". */
const FAR_DAYS = 365;

export interface Outlook {
  readonly words: string;
  /** Whether the balance runs out soon. */
  readonly isShort: boolean;
}

/** How long a balance lasts at the rate of the last {@link RATE_DAYS} days, given the amount spent in them. */
export function outlookOf(balanceNanoUsd: bigint, spentNanoUsd: bigint): Outlook {
  if (balanceNanoUsd <= 0n) {
    return {
      words: "No credit left. Paid requests are refused.",
      isShort: spentNanoUsd > 0n,
    };
  }
  if (spentNanoUsd <= 0n) {
    return {
      words: `No spend in the last ${RATE_DAYS} days.`,
      isShort: false,
    };
  }
  const days = (Number(balanceNanoUsd) / Number(spentNanoUsd)) * RATE_DAYS;
  const rate = `at the average spend of the last ${RATE_DAYS} days`;
  return { words: `Lasts ${daysInWords(days)} ${rate}.`, isShort: days < SHORT_DAYS };
}

function daysInWords(days: number): string {
  if (days < 1) return "less than a day";
  if (days > FAR_DAYS) return "more than a year";
  const whole = Math.floor(days);
  return `about ${whole} ${whole === 1 ? "day" : "days"}`;
}
