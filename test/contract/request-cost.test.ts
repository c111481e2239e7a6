import { describe, expect, it } from "vitest";
import { type CatalogModel, TEXT_ONLY } from "../../server/src/catalog/catalog.ts";
import { withDefaultPrices } from "../../server/src/catalog/prices.ts";
import {
  affordableTokens,
  type CostBasis,
  chargeFor,
  rangeOf,
} from "../../server/src/credits/request-cost.ts";
import { costBasisOf } from "../../server/src/request/hold-credit.ts";
import type { Usage } from "../../server/src/tokens/token-estimate.ts";
import { Random } from "../simulation/world/random.ts";

const ROUNDS = 3_000;

const OPTIONAL_PRICES = [
  "cachedInputNanoUsdPerMTok",
  "cacheWriteNanoUsdPerMTok",
  "cacheWrite1hNanoUsdPerMTok",
  "audioInputNanoUsdPerMTok",
  "imageInputNanoUsdPerMTok",
  "reasoningNanoUsdPerMTok",
  "audioOutputNanoUsdPerMTok",
  "imageOutputNanoUsdPerMTok",
  "imageNanoUsd",
];

function randomRequest(random: Random): CostBasis {
  const price = () => BigInt(random.below(random.chance(0.2) ? 3 : 1_000_000_000));
  const given = OPTIONAL_PRICES.filter(() => random.chance(0.5)).map((name) => [name, price()]);
  const model: CatalogModel = {
    id: "acme/chat",
    aliases: [],
    ownedBy: "acme",
    created: 0,
    sandbox: false,
    contextTokens: random.chance(0.5) ? null : 1 + random.below(500),
    maxOutputTokens: null,
    modalities: TEXT_ONLY,
    prices: withDefaultPrices({
      inputNanoUsdPerMTok: price(),
      outputNanoUsdPerMTok: price(),
      ...Object.fromEntries(given),
    }),
    routes: [],
  };
  const maxTokens = 16 + random.below(500);
  const choices = 1 + random.below(3);
  return {
    model,
    bytes: 1 + random.below(1_000),
    maxTokens,
    choices,
    prompts: 1,
    images: random.below(3),
    files: 0,
  };
}

/** A usage of a request's longest prompt, or a shorter one, with parts that may overlap and exceed it. */
function randomUsage(random: Random, { bytes, model }: CostBasis, maxCompletion: number): Usage {
  const maxPrompt = Math.min(bytes, model.contextTokens ?? bytes);
  const promptTokens = random.chance(0.5) ? maxPrompt : random.below(maxPrompt + 1);
  const completionTokens = random.chance(0.5) ? maxCompletion : random.below(maxCompletion + 1);
  const part = (total: number) => (random.chance(0.5) ? 0 : random.below(2 * total + 1));
  return {
    promptTokens,
    completionTokens,
    cachedTokens: part(promptTokens),
    cacheWriteTokens: part(promptTokens),
    cacheWrite1hTokens: part(promptTokens),
    audioPromptTokens: part(promptTokens),
    imagePromptTokens: part(promptTokens),
    reasoningTokens: part(completionTokens),
    audioCompletionTokens: part(completionTokens),
    imageCompletionTokens: part(completionTokens),
  };
}

describe("a hold", () => {
  it("covers every usage within the request's maximum, whatever parts it has", () => {
    const random = new Random(1);
    for (let round = 0; round < ROUNDS; round++) {
      const request = randomRequest(random);
      const usage = randomUsage(random, request, (request.maxTokens ?? 0) * request.choices);
      const { minNanoUsd, maxNanoUsd } = rangeOf(request);
      expect(minNanoUsd).toBeLessThanOrEqual(maxNanoUsd);
      expect(chargeFor(request, usage).costNanoUsd).toBeLessThanOrEqual(maxNanoUsd);
    }
  });

  it("covers what the service has stored and the model reads besides the body", () => {
    const { model } = randomRequest(new Random(7));
    const prices = withDefaultPrices({ inputNanoUsdPerMTok: 1_000_000n, outputNanoUsdPerMTok: 0n });
    const priced = { ...model, prices, contextTokens: null };
    const use = { model: model.id, maxTokens: 16, choices: 1, prompts: 1, images: 0, files: 0 };
    expect(rangeOf(costBasisOf(priced, { ...use, storedBytes: 1_000 }, 500)).maxNanoUsd).toBe(1_500n);
    expect(rangeOf(costBasisOf(priced, use, 500)).maxNanoUsd).toBe(500n);
  });

  it("pays at least for sixteen tokens of each answer", () => {
    const prices = withDefaultPrices({ inputNanoUsdPerMTok: 0n, outputNanoUsdPerMTok: 2_000_000n });
    const basis = { ...randomRequest(new Random(6)), choices: 3, images: 0 };
    const request = { ...basis, model: { ...basis.model, prices } };
    expect(rangeOf({ ...request, maxTokens: 100 })).toEqual({ minNanoUsd: 96n, maxNanoUsd: 600n });
    expect(rangeOf({ ...request, maxTokens: 10 })).toEqual({ minNanoUsd: 60n, maxNanoUsd: 60n });
  });

  it("below the maximum covers every answer of the tokens that it pays for", () => {
    const random = new Random(2);
    for (let round = 0; round < ROUNDS; round++) {
      const request = randomRequest(random);
      const { minNanoUsd, maxNanoUsd } = rangeOf(request);
      const held = minNanoUsd + (maxNanoUsd - minNanoUsd) / BigInt(1 + random.below(9));
      const tokens = affordableTokens(request, held) ?? request.maxTokens ?? 0;
      const usage = randomUsage(random, request, Math.min(tokens, request.maxTokens ?? 0) * request.choices);
      expect(chargeFor(request, usage).costNanoUsd).toBeLessThanOrEqual(held);
    }
  });
});

describe("a charge", () => {
  it("for a usage beyond the model's limits is that of the limits, and reports the rest as implausible", () => {
    const request = { ...randomRequest(new Random(3)), bytes: 10, choices: 1, images: 0 };
    const prices = withDefaultPrices({
      inputNanoUsdPerMTok: 1_000_000n,
      outputNanoUsdPerMTok: 2_000_000n,
      cacheWriteNanoUsdPerMTok: 3_000_000n,
    });
    const model = { ...request.model, prices, contextTokens: 100, maxOutputTokens: 50 };
    const usage = { promptTokens: 1_000, cachedTokens: 0, cacheWriteTokens: 1_000, completionTokens: 60 };
    expect(chargeFor({ ...request, model }, usage)).toEqual({
      costNanoUsd: 100n * 3n + 50n * 2n,
      countedTokens: 150,
      implausibleNanoUsd: 900n * 3n + 10n * 2n,
    });
  });

  it("counts each text of a request for embeddings up to the model's context", () => {
    const request = { ...randomRequest(new Random(7)), bytes: 1_000, maxTokens: 0, images: 0, prompts: 3 };
    const prices = withDefaultPrices({ inputNanoUsdPerMTok: 1_000_000n, outputNanoUsdPerMTok: 0n });
    const model = { ...request.model, prices, contextTokens: 100, maxOutputTokens: null };
    const charged = (promptTokens: number) =>
      chargeFor({ ...request, model }, { promptTokens, cachedTokens: 0, completionTokens: 0 });
    expect(charged(300)).toEqual({ costNanoUsd: 300n, countedTokens: 300, implausibleNanoUsd: 0n });
    expect(charged(301)).toEqual({ costNanoUsd: 300n, countedTokens: 300, implausibleNanoUsd: 1n });
  });

  it("for tokens of an answer is none where a request has no answer, such as one for embeddings", () => {
    const request = { ...randomRequest(new Random(5)), bytes: 10, maxTokens: 0, choices: 1, images: 0 };
    const prices = withDefaultPrices({ inputNanoUsdPerMTok: 0n, outputNanoUsdPerMTok: 2_000_000n });
    const model = { ...request.model, prices, contextTokens: 100, maxOutputTokens: null };
    const usage = { promptTokens: 5, cachedTokens: 0, completionTokens: 60 };
    expect(rangeOf({ ...request, model }).maxNanoUsd).toBe(0n);
    expect(chargeFor({ ...request, model }, usage)).toEqual({
      costNanoUsd: 0n,
      countedTokens: 5,
      implausibleNanoUsd: 60n * 2n,
    });
  });

  it("tells so little of a usage beyond reason that a day of 100,000 such requests a second can be summed up", () => {
    const request = { ...randomRequest(new Random(4)), bytes: 10, choices: 1, images: 0 };
    const prices = withDefaultPrices({
      inputNanoUsdPerMTok: 600_000_000_000n,
      outputNanoUsdPerMTok: 600_000_000_000n,
    });
    const model = { ...request.model, prices, contextTokens: 10, maxOutputTokens: 10 };
    const usage = { promptTokens: 1_000_000_000, cachedTokens: 0, completionTokens: 1_000_000_000 };
    const { costNanoUsd, implausibleNanoUsd } = chargeFor({ ...request, model }, usage);
    expect(costNanoUsd).toBe(20n * 600_000n);
    const requests = 100_000n * 24n * 60n * 60n;
    expect((costNanoUsd + implausibleNanoUsd) * requests).toBeLessThan(2n ** 63n);
  });
});
