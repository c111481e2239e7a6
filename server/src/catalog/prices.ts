import type { Usage } from "../tokens/token-estimate.ts";

/** Nano-USD per million tokens. Each token has one price: see {@link costOf}. */
export interface ModelPrices {
  /** For prompt tokens. */
  readonly inputNanoUsdPerMTok: bigint;
  /** For prompt tokens read from the upstream's cache. */
  readonly cachedInputNanoUsdPerMTok: bigint;
  /** For prompt tokens written to the upstream's cache for 5 minutes, or for a time that the upstream does not tell. */
  readonly cacheWriteNanoUsdPerMTok: bigint;
  /** For prompt tokens written to the upstream's cache for an hour. */
  readonly cacheWrite1hNanoUsdPerMTok: bigint;
  /** For prompt tokens of recordings. */
  readonly audioInputNanoUsdPerMTok: bigint;
  /** For prompt tokens of images. */
  readonly imageInputNanoUsdPerMTok: bigint;
  /** For tokens of answers. */
  readonly outputNanoUsdPerMTok: bigint;
  /** For tokens of reasoning. */
  readonly reasoningNanoUsdPerMTok: bigint;
  /** For tokens of spoken answers. */
  readonly audioOutputNanoUsdPerMTok: bigint;
  /** For tokens of images in answers. */
  readonly imageOutputNanoUsdPerMTok: bigint;
  /** Nano-USD for each image in a prompt, in addition to its tokens. */
  readonly imageNanoUsd: bigint;
}

/** The prices that a catalog must give, and those that it may. */
export type GivenPrices = Pick<ModelPrices, "inputNanoUsdPerMTok" | "outputNanoUsdPerMTok"> & {
  readonly [Name in keyof ModelPrices]?: ModelPrices[Name] | undefined;
};

/** Prices are for this many tokens. */
export const MTOK = 1_000_000n;
const MAX_ROUNDED_UP = MTOK - 1n;
const NANO_DIGITS = 9;
const DECIMAL = /^(\d{1,9})(?:\.(\d{1,9}))?$/;

/** Adds the prices that are not given: a token without a price of its own costs as much as any other token of its prompt or answer. */
export function withDefaultPrices(given: GivenPrices): ModelPrices {
  const { inputNanoUsdPerMTok: input, outputNanoUsdPerMTok: output } = given;
  const cacheWrite = given.cacheWriteNanoUsdPerMTok ?? input;
  return {
    inputNanoUsdPerMTok: input,
    cachedInputNanoUsdPerMTok: given.cachedInputNanoUsdPerMTok ?? input,
    cacheWriteNanoUsdPerMTok: cacheWrite,
    cacheWrite1hNanoUsdPerMTok: given.cacheWrite1hNanoUsdPerMTok ?? cacheWrite,
    audioInputNanoUsdPerMTok: given.audioInputNanoUsdPerMTok ?? input,
    imageInputNanoUsdPerMTok: given.imageInputNanoUsdPerMTok ?? input,
    outputNanoUsdPerMTok: output,
    reasoningNanoUsdPerMTok: given.reasoningNanoUsdPerMTok ?? output,
    audioOutputNanoUsdPerMTok: given.audioOutputNanoUsdPerMTok ?? output,
    imageOutputNanoUsdPerMTok: given.imageOutputNanoUsdPerMTok ?? output,
    imageNanoUsd: given.imageNanoUsd ?? 0n,
  };
}

/** The parts of a total that have a price of their own, in the order in which they are charged. */
type Parts = readonly (readonly [part: keyof Usage, price: keyof ModelPrices])[];
const PROMPT_PARTS: Parts = [
  ["cachedTokens", "cachedInputNanoUsdPerMTok"],
  ["cacheWrite1hTokens", "cacheWrite1hNanoUsdPerMTok"],
  ["cacheWriteTokens", "cacheWriteNanoUsdPerMTok"],
  ["audioPromptTokens", "audioInputNanoUsdPerMTok"],
  ["imagePromptTokens", "imageInputNanoUsdPerMTok"],
];
const COMPLETION_PARTS: Parts = [
  ["reasoningTokens", "reasoningNanoUsdPerMTok"],
  ["audioCompletionTokens", "audioOutputNanoUsdPerMTok"],
  ["imageCompletionTokens", "imageOutputNanoUsdPerMTok"],
];

/**
 * What tokens cost, in nano-USD, rounded up to a whole one.
 *
 * Upstreams do not tell how parts overlap, such as audio that was read from the cache. Each token is therefore charged once, for the
 * first that it may be: of a prompt, cached, written for an hour, written for 5 minutes, audio, image; of an answer, reasoning, audio,
 * image. Parts beyond the total are not charged, and tokens that are in no part have the price of input or output.
 *
 * @param images The number of images in the prompt.
 */
export function costOf(tokens: Usage, images: number, prices: ModelPrices): bigint {
  /** In millionths of a nano-USD. */
  const charged = (total: number, parts: Parts, price: bigint) => {
    let rest = total;
    let cost = 0n;
    for (const [part, partPrice] of parts) {
      const count = Math.min(tokens[part] ?? 0, rest);
      // Most parts are not used.
      if (count === 0) continue;
      rest -= count;
      cost += times(count, prices[partPrice]);
    }
    return cost + times(rest, price);
  };
  const prompt = charged(tokens.promptTokens, PROMPT_PARTS, prices.inputNanoUsdPerMTok);
  const completion = charged(tokens.completionTokens, COMPLETION_PARTS, prices.outputNanoUsdPerMTok);
  return perMTok(prompt + completion) + times(images, prices.imageNanoUsd);
}

/** The maximum cost of tokens, whatever parts they turn out to have, in nano-USD. */
export function maxCostOf(
  tokens: { readonly promptTokens: number; readonly completionTokens: number; readonly images: number },
  prices: ModelPrices,
): bigint {
  const inputPrice = maxPrice(prices.inputNanoUsdPerMTok, PROMPT_PARTS, prices);
  const prompt = times(tokens.promptTokens, inputPrice);
  const completion = times(tokens.completionTokens, maxOutputPrice(prices));
  return perMTok(prompt + completion) + times(tokens.images, prices.imageNanoUsd);
}

/** The highest price that a token of an answer may have, in nano-USD per million tokens. */
export function maxOutputPrice(prices: ModelPrices): bigint {
  return maxPrice(prices.outputNanoUsdPerMTok, COMPLETION_PARTS, prices);
}

function maxPrice(price: bigint, parts: Parts, prices: ModelPrices): bigint {
  let max = price;
  for (const [, part] of parts) if (prices[part] > max) max = prices[part];
  return max;
}

/** Rounds up to a whole nano-USD. */
function perMTok(amount: bigint): bigint {
  return (amount + MAX_ROUNDED_UP) / MTOK;
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
