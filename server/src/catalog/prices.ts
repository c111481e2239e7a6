/** Nano-USD per million tokens. */
export interface ModelPrices {
  /** For prompt tokens. */
  readonly inputNanoUsdPerMTok: bigint;
  /** For prompt tokens read from the upstream's cache. */
  readonly cachedInputNanoUsdPerMTok: bigint;
  /** For tokens of answers. */
  readonly outputNanoUsdPerMTok: bigint;
  /** Nano-USD for each image in a prompt, in addition to its tokens. */
  readonly imageNanoUsd: bigint;
}

export interface PricedTokens {
  readonly promptTokens: number;
  /** Of the prompt's. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Images in the prompt. */
  readonly images: number;
}

const MTOK = 1_000_000n;
const MAX_ROUNDED_UP = MTOK - 1n;
const NANO_DIGITS = 9;
const DECIMAL = /^(\d{1,9})(?:\.(\d{1,9}))?$/;

/** What tokens cost, in nano-USD, rounded up to a whole one. */
export function costOf(tokens: PricedTokens, prices: ModelPrices): bigint {
  const { promptTokens, cachedTokens, completionTokens, images } = tokens;
  const fresh = times(promptTokens - cachedTokens, prices.inputNanoUsdPerMTok);
  const cached = times(cachedTokens, prices.cachedInputNanoUsdPerMTok);
  const output = times(completionTokens, prices.outputNanoUsdPerMTok);
  return (fresh + cached + output + MAX_ROUNDED_UP) / MTOK + times(images, prices.imageNanoUsd);
}

/** Multiplies a count by a price. Many counts are 0, which saves a BigInt. */
function times(count: number, price: bigint): bigint {
  return count === 0 ? 0n : BigInt(count) * price;
}

/** Reads a decimal number of USD, exactly: `2.50` is 2,500,000,000. @returns `null` for anything else. */
export function nanoUsdOf(decimal: string): bigint | null {
  const match = DECIMAL.exec(decimal);
  if (match === null) return null;
  const [, whole = "0", fraction = ""] = match;
  return BigInt(whole + fraction.padEnd(NANO_DIGITS, "0"));
}

/** Writes nano-USD as a decimal number of USD, exactly: `2.5`, `-0.000000001`. */
export function usdOf(nanoUsd: bigint): string {
  const size = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const digits = size.toString().padStart(NANO_DIGITS + 1, "0");
  const whole = digits.slice(0, -NANO_DIGITS);
  const fraction = digits.slice(-NANO_DIGITS).replace(/0+$/, "");
  return `${nanoUsd < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}
