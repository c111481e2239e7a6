import { describe, expect, it } from "vitest";
import {
  costOf,
  type GivenPrices,
  type ModelPrices,
  maxCostOf,
  withDefaultPrices,
} from "../../server/src/catalog/prices.ts";
import type { Usage } from "../../server/src/tokens/token-estimate.ts";
import { Random } from "../simulation/world/random.ts";

const MTOK = 1_000_000n;

/** Every kind has a price of its own, in nano-USD per token, so that none can stand in another's place unnoticed. */
const PER_TOKEN = {
  inputNanoUsdPerMTok: 1_000n,
  cachedInputNanoUsdPerMTok: 100n,
  cacheWriteNanoUsdPerMTok: 1_250n,
  cacheWrite1hNanoUsdPerMTok: 2_000n,
  audioInputNanoUsdPerMTok: 9_000n,
  imageInputNanoUsdPerMTok: 3_000n,
  outputNanoUsdPerMTok: 5_000n,
  reasoningNanoUsdPerMTok: 4_000n,
  audioOutputNanoUsdPerMTok: 30_000n,
  imageOutputNanoUsdPerMTok: 40_000n,
} satisfies GivenPrices;

const prices = pricesOf(PER_TOKEN);

function pricesOf(perToken: GivenPrices): ModelPrices {
  const given = Object.entries(perToken).map(([name, price]) => [name, (price ?? 0n) * MTOK]);
  return withDefaultPrices({
    inputNanoUsdPerMTok: 0n,
    outputNanoUsdPerMTok: 0n,
    ...Object.fromEntries(given),
    imageNanoUsd: 7n,
  });
}

type PricedTokens = Usage & { readonly images: number };

function cost(tokens: Partial<PricedTokens>, at = prices): bigint {
  const { images = 0, ...usage } = tokens;
  return costOf({ promptTokens: 0, cachedTokens: 0, completionTokens: 0, ...usage }, images, at);
}

describe("a cost", () => {
  it.each<[string, Partial<PricedTokens>, bigint]>([
    ["input", { promptTokens: 100 }, 100_000n],
    ["cached input", { promptTokens: 100, cachedTokens: 40 }, 60_000n + 4_000n],
    ["cache writes", { promptTokens: 100, cacheWriteTokens: 40 }, 60_000n + 50_000n],
    ["cache writes for an hour", { promptTokens: 100, cacheWrite1hTokens: 40 }, 60_000n + 80_000n],
    ["audio input", { promptTokens: 100, audioPromptTokens: 40 }, 60_000n + 360_000n],
    ["image input", { promptTokens: 100, imagePromptTokens: 40 }, 60_000n + 120_000n],
    ["output", { completionTokens: 100 }, 500_000n],
    ["reasoning", { completionTokens: 100, reasoningTokens: 40 }, 300_000n + 160_000n],
    ["audio output", { completionTokens: 100, audioCompletionTokens: 40 }, 300_000n + 1_200_000n],
    ["image output", { completionTokens: 100, imageCompletionTokens: 40 }, 300_000n + 1_600_000n],
    ["images", { images: 3 }, 21n],
  ])("has %s at its price", (_, tokens, expected) => {
    expect(cost(tokens)).toBe(expected);
  });

  it("is the sum of all parts", () => {
    const promptParts = {
      cachedTokens: 1,
      cacheWriteTokens: 2,
      cacheWrite1hTokens: 3,
      audioPromptTokens: 4,
      imagePromptTokens: 5,
    };
    const completionParts = { reasoningTokens: 1, audioCompletionTokens: 2, imageCompletionTokens: 3 };
    expect(cost({ promptTokens: 16, ...promptParts, completionTokens: 7, ...completionParts })).toBe(
      100n + 2_500n + 6_000n + 36_000n + 15_000n + 1_000n + (4_000n + 60_000n + 120_000n + 5_000n),
    );
  });

  it("has a token of several parts once, at the price of the first", () => {
    // All 100 tokens are audio, 60 of them were read from the cache.
    expect(cost({ promptTokens: 100, cachedTokens: 60, audioPromptTokens: 100 })).toBe(6_000n + 360_000n);
    expect(cost({ promptTokens: 10, cachedTokens: 10, cacheWriteTokens: 10, cacheWrite1hTokens: 10 })).toBe(
      1_000n,
    );
    expect(cost({ completionTokens: 10, reasoningTokens: 8, audioCompletionTokens: 10 })).toBe(
      32_000n + 60_000n,
    );
  });

  it("is rounded up once, to a whole nano-USD", () => {
    const cheap = withDefaultPrices({ inputNanoUsdPerMTok: 1n, outputNanoUsdPerMTok: 1n });
    expect(cost({ promptTokens: 1 }, cheap)).toBe(1n);
    expect(cost({ promptTokens: 3, cachedTokens: 1, cacheWriteTokens: 1, completionTokens: 1 }, cheap)).toBe(
      1n,
    );
    expect(cost({}, cheap)).toBe(0n);
  });

  it("of any counts is never negative nor above the maximum, and does not fall as tokens are added", () => {
    const random = new Random(20);
    for (let round = 0; round < 5_000; round++) {
      const tokens = randomTokens(random);
      const at = randomPrices(random);
      const found = cost(tokens, at);
      expect(found).toBeGreaterThanOrEqual(0n);
      expect(found).toBeLessThanOrEqual(maxCostOf(tokens, at));
      const more = { promptTokens: tokens.promptTokens + 1, completionTokens: tokens.completionTokens + 1 };
      expect(cost({ ...tokens, ...more }, at)).toBeGreaterThanOrEqual(found);
    }
  });

  it("is the same with parts as without where they have no prices of their own", () => {
    const random = new Random(21);
    const plain = pricesOf({ inputNanoUsdPerMTok: 3n, outputNanoUsdPerMTok: 5n });
    for (let round = 0; round < 500; round++) {
      const { promptTokens, completionTokens, images, ...parts } = randomTokens(random);
      const totals = { promptTokens, completionTokens, images };
      expect(cost({ ...totals, ...parts }, plain)).toBe(cost(totals, plain));
    }
  });
});

describe("prices that a catalog does not give", () => {
  it("are those of input and output, and for an hour that of cache writes", () => {
    const given = { inputNanoUsdPerMTok: 1n, outputNanoUsdPerMTok: 2n, cacheWriteNanoUsdPerMTok: 3n };
    expect(withDefaultPrices(given)).toEqual({
      inputNanoUsdPerMTok: 1n,
      cachedInputNanoUsdPerMTok: 1n,
      cacheWriteNanoUsdPerMTok: 3n,
      cacheWrite1hNanoUsdPerMTok: 3n,
      audioInputNanoUsdPerMTok: 1n,
      imageInputNanoUsdPerMTok: 1n,
      outputNanoUsdPerMTok: 2n,
      reasoningNanoUsdPerMTok: 2n,
      audioOutputNanoUsdPerMTok: 2n,
      imageOutputNanoUsdPerMTok: 2n,
      imageNanoUsd: 0n,
    });
  });
});

/** Counts of which parts may overlap and exceed their total. */
function randomTokens(random: Random): PricedTokens {
  const some = () => (random.chance(0.4) ? 0 : random.below(30));
  return {
    promptTokens: some(),
    completionTokens: some(),
    images: some(),
    cachedTokens: some(),
    cacheWriteTokens: some(),
    cacheWrite1hTokens: some(),
    audioPromptTokens: some(),
    imagePromptTokens: some(),
    reasoningTokens: some(),
    audioCompletionTokens: some(),
    imageCompletionTokens: some(),
  };
}

function randomPrices(random: Random): ModelPrices {
  const names = Object.keys(PER_TOKEN);
  // Of a nano-USD per million tokens too, so that rounding matters.
  const price = () => BigInt(random.below(random.chance(0.5) ? 10 : 10_000_000));
  return withDefaultPrices({
    inputNanoUsdPerMTok: price(),
    outputNanoUsdPerMTok: price(),
    ...Object.fromEntries(names.filter(() => random.chance(0.6)).map((name) => [name, price()])),
  });
}
