/** As the dashboard writes amounts: "1,000,000", "$1,234.56", "0.005". Without a comma, too. */
const USD = /^\$?\s*(\d{1,12}|\d{1,3}(?:,\d{3}){1,3})(?:\.(\d{1,9}))?$/;
/** One comma and three digits: a thousand for some readers, decimals for others. */
const TWO_READINGS = /^\$?\s*([1-9]\d{0,2}),(\d{3})$/;
/** A number with more decimals than an amount has, and one with more digits. */
const TOO_MANY_DECIMALS = /^\$?\s*[\d,]+\.\d{10,}$/;
const TOO_MUCH = /^\$?\s*\d{13,}(?:\.\d+)?$/;

/** Parses a typed amount of US dollars into nano-USD, exactly, without floating point. @returns `null` for other texts. */
export function nanoUsdOf(text: string): bigint | null {
  const typed = text.trim();
  const [, whole, fraction = ""] = USD.exec(typed) ?? [];
  if (whole === undefined || TWO_READINGS.test(typed)) return null;
  return BigInt(whole.replaceAll(",", "") + fraction.padEnd(9, "0"));
}

/** What to type instead of a text that is no amount, or one of nothing. */
export function usdHint(text: string): string {
  const typed = text.trim();
  const [, thousands, rest] = TWO_READINGS.exec(typed) ?? [];
  if (thousands !== undefined) {
    return `${thousands},${rest} has two readings. Enter ${thousands}${rest}.00 or ${thousands}.${rest}.`;
  }
  if (nanoUsdOf(typed) === 0n) return "Enter an amount above 0.";
  if (TOO_MANY_DECIMALS.test(typed)) return "Enter at most 9 decimals.";
  if (TOO_MUCH.test(typed)) return "Enter at most 9 million US dollars.";
  return "Enter an amount in US dollars with a point before decimals, such as 25, 1,234.50 or 0.005.";
}
