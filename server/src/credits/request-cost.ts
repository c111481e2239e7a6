import type { CatalogModel } from "../catalog/catalog.ts";
import { costOf, MTOK, maxCostOf, maxOutputPrice } from "../catalog/prices.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import type { Hold, HoldRange } from "./allowance.ts";

/** The maximum length of an answer if neither the request nor the catalog limits it. */
const MAX_ANSWER_TOKENS = 32_768;
/** The maximum length of a prompt if the catalog does not say. */
const MAX_PROMPT_TOKENS = 1_048_576;
/** 1,000,000 USD: no request is charged more, so that the sum of a batch's costs does not overflow. A hold may be larger. */
const MAX_COST_NANO_USD = 1_000_000_000_000_000n;
/**
 * 1 USD. A faulty upstream may report any number in each answer. The sum of an account's day is a signed integer of 64 bits, which 9 billion
 * such amounts do not exceed.
 */
const MAX_IMPLAUSIBLE_NANO_USD = 1_000_000_000n;
/** A request is refused if its credit does not pay for an answer of this length: a shorter one is of no use. */
const MIN_ANSWER_TOKENS = 16;
const MAX_IMAGE_TOKENS = 8_192;
const MAX_FILE_TOKENS = 65_536;

/** What the cost of a request is computed from, beside its usage. */
export interface CostBasis {
  readonly model: CatalogModel;
  /** The length of the body. No token is shorter than a byte, so this bounds the prompt's tokens. */
  readonly bytes: number;
  /** The maximum that the client has set; `null`: as many as the model gives; 0: the request has no answer, such as one for embeddings. */
  readonly maxTokens: number | null;
  /** How many answers. */
  readonly choices: number;
  /** The number of texts that the model reads separately, each at most as long as its context: 1 except for embeddings. */
  readonly prompts: number;
  /** Images in the prompt. */
  readonly images: number;
  /** Files and recordings in the prompt. */
  readonly files: number;
}

/**
 * The range of a request's cost. Its maximum is held. It is not known in advance which of the tokens will be cached, reasoning or audio, so each
 * counts at the highest price that it may have.
 */
export function rangeOf(basis: CostBasis): HoldRange {
  const { choices, images } = basis;
  const { prices } = basis.model;
  if (prices === null) return { minNanoUsd: 0n, maxNanoUsd: 0n };
  const longest = maxAnswerTokens(basis);
  const cost = (completionTokens: number) =>
    maxCostOf({ promptTokens: promptTokensOf(basis), completionTokens, images }, prices);
  return {
    minNanoUsd: cost(Math.min(longest, MIN_ANSWER_TOKENS) * choices),
    maxNanoUsd: cost(longest * choices),
  };
}

/** The maximum tokens of each answer that a hold below the maximum cost pays for; `null`: no limit. */
export function affordableTokens(basis: CostBasis, heldNanoUsd: bigint): number | null {
  const { model, choices, images } = basis;
  if (model.prices === null) return null;
  const price = maxOutputPrice(model.prices);
  if (price === 0n) return null;
  const prompt = { promptTokens: promptTokensOf(basis), completionTokens: 0, images };
  const left = heldNanoUsd - maxCostOf(prompt, model.prices);
  return Math.max(1, Number((left * MTOK) / price / BigInt(choices)));
}

/** The maximum tokens of the prompt. An image or a file that is named by its URL or id may be much longer than its name. */
function promptTokensOf({ model, bytes, images, files, prompts }: CostBasis): number {
  const max = bytes + images * MAX_IMAGE_TOKENS + files * MAX_FILE_TOKENS;
  return model.contextTokens === null ? max : Math.min(max, model.contextTokens * prompts);
}

/** What a request is charged and counts, and what its upstream reported beyond the model's limits. */
interface Charge {
  readonly costNanoUsd: bigint;
  /** The tokens that count against the account's limit. As in the cost, what exceeds the model's limits does not count. */
  readonly countedTokens: number;
  /** This amount is not charged, so that a faulty upstream can't drain an account. At most 1 USD. */
  readonly implausibleNanoUsd: bigint;
}

/**
 * The cost and the tokens of what an upstream reports, even if they exceed the hold. The model's context and maximum output, by the catalog,
 * bound what is plausible: a faulty upstream neither drains an account nor uses up the limit that its requests to other upstreams have.
 */
export function chargeFor(basis: CostBasis, usage: Usage): Charge {
  const { model, choices, prompts, images } = basis;
  const { prices, contextTokens } = model;
  const promptTokens = Math.min(usage.promptTokens, (contextTokens ?? MAX_PROMPT_TOKENS) * prompts);
  const completionTokens = Math.min(usage.completionTokens, maxPlausibleAnswer(basis) * choices);
  const countedTokens = promptTokens + completionTokens;
  if (prices === null) return { costNanoUsd: 0n, countedTokens, implausibleNanoUsd: 0n };
  const reportedNanoUsd = smaller(costOf(usage, images, prices), MAX_COST_NANO_USD);
  if (promptTokens === usage.promptTokens && completionTokens === usage.completionTokens) {
    return { costNanoUsd: reportedNanoUsd, countedTokens, implausibleNanoUsd: 0n };
  }
  const believed = { ...usage, promptTokens, completionTokens };
  const costNanoUsd = smaller(costOf(believed, images, prices), MAX_COST_NANO_USD);
  const excessNanoUsd = reportedNanoUsd > costNanoUsd ? reportedNanoUsd - costNanoUsd : 0n;
  return { costNanoUsd, countedTokens, implausibleNanoUsd: smaller(excessNanoUsd, MAX_IMPLAUSIBLE_NANO_USD) };
}

/** The maximum tokens of each answer that the model can give, whatever the request allows. */
function maxPlausibleAnswer({ model, maxTokens }: CostBasis): number {
  if (maxTokens === 0) return 0;
  return model.maxOutputTokens ?? model.contextTokens ?? Math.max(MAX_ANSWER_TOKENS, maxTokens ?? 0);
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** The maximum tokens of each answer if it is paid for in full. */
function maxAnswerTokens({ model, maxTokens }: CostBasis): number {
  return maxTokens ?? model.maxOutputTokens ?? model.contextTokens ?? MAX_ANSWER_TOKENS;
}

/** A request for a model, with the credit that is held for it. */
export interface PaidCall {
  readonly costBasis: CostBasis;
  readonly hold: Hold;
  /** The maximum tokens of each answer if credit covers only part of the request; `null`: it covers all of it. */
  readonly affordableTokens: number | null;
}

/**
 * The tokens of each answer that are paid for; `null`: the model is free, or an answer as long as its context is paid for. An upstream would
 * refuse to be asked for that many.
 */
export function paidTokens({ costBasis, affordableTokens }: PaidCall): number | null {
  const { prices, maxOutputTokens, contextTokens } = costBasis.model;
  if (prices === null) return null;
  const known = affordableTokens ?? costBasis.maxTokens ?? maxOutputTokens;
  return known ?? (contextTokens === null ? MAX_ANSWER_TOKENS : null);
}
