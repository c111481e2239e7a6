import type { CatalogModel } from "../catalog/catalog.ts";
import { costOf, type PricedTokens } from "../catalog/prices.ts";
import type { Hold, HoldRange } from "./allowance.ts";

/** Where neither the request nor the catalog says how long an answer may be. */
const MAX_ANSWER_TOKENS = 32_768;
/** Where the catalog does not say how long a prompt may be. */
const MAX_PROMPT_TOKENS = 1_048_576;
/** 1,000,000 USD: no request costs more, and sums of so much can be computed. */
const MAX_COST_NANO_USD = 1_000_000_000_000_000n;
/** An answer that is shorter is of no use to anybody. */
const MIN_ANSWER_TOKENS = 16;
const MAX_IMAGE_TOKENS = 8_192;
const MAX_FILE_TOKENS = 65_536;
const MTOK = 1_000_000n;

export interface PricedRequest {
  readonly model: CatalogModel;
  /** Of the body: no token is shorter than a byte, so there are at most as many. */
  readonly bytes: number;
  /** The most that the client has asked for; `null`: as many as the model gives. */
  readonly maxTokens: number | null;
  /** How many answers. */
  readonly choices: number;
  /** How many texts the model reads apart from each other, each as long as its context at most: 1 but for embeddings. */
  readonly prompts: number;
  /** Images in the prompt. */
  readonly images: number;
  /** Files and recordings in the prompt. */
  readonly files: number;
}

/** What a request may cost. */
export function rangeOf(request: PricedRequest): HoldRange {
  const { choices, images } = request;
  const { prices } = request.model;
  if (prices === null) return { minNanoUsd: 0n, maxNanoUsd: 0n };
  const longest = maxAnswerTokens(request);
  const cost = (completionTokens: number) =>
    costOf({ promptTokens: promptTokensOf(request), cachedTokens: 0, completionTokens, images }, prices);
  return {
    minNanoUsd: cost(Math.min(longest, MIN_ANSWER_TOKENS) * choices),
    maxNanoUsd: cost(longest * choices),
  };
}

/** How long each answer may be for less than the request may cost; `null`: as long as was asked for. */
export function affordableTokens(request: PricedRequest, heldNanoUsd: bigint): number | null {
  const { model, choices, images } = request;
  if (model.prices === null) return null;
  const { outputNanoUsdPerMTok } = model.prices;
  if (outputNanoUsdPerMTok === 0n) return null;
  const prompt = { promptTokens: promptTokensOf(request), cachedTokens: 0, completionTokens: 0, images };
  const left = heldNanoUsd - costOf(prompt, model.prices);
  return Math.max(1, Number((left * MTOK) / outputNanoUsdPerMTok / BigInt(choices)));
}

/** What is named by its address or id may be much longer than that. */
function promptTokensOf({ model, bytes, images, files, prompts }: PricedRequest): number {
  const most = bytes + images * MAX_IMAGE_TOKENS + files * MAX_FILE_TOKENS;
  return Math.min(most, model.contextTokens === null ? most : model.contextTokens * prompts);
}

/** What a request is charged, and what an upstream reported beyond what the model can do. */
export interface Charge {
  readonly costNanoUsd: bigint;
  /** Neither charged nor collected: a wrong upstream must not drain an account. */
  readonly implausibleNanoUsd: bigint;
}

const FREE: Charge = { costNanoUsd: 0n, implausibleNanoUsd: 0n };

/**
 * The cost of what an upstream reports, also where it is more than was held. The model's context and its longest answer, by
 * the catalog, bound what can be believed.
 */
export function chargeFor(request: PricedRequest, usage: Omit<PricedTokens, "images"> | null): Charge {
  const { model, choices, prompts, images } = request;
  const { prices, contextTokens } = model;
  if (usage === null || prices === null) return FREE;
  const maxPrompt = (contextTokens ?? MAX_PROMPT_TOKENS) * prompts;
  const maxAnswer =
    model.maxOutputTokens ?? contextTokens ?? Math.max(MAX_ANSWER_TOKENS, request.maxTokens ?? 0);
  const promptTokens = Math.min(usage.promptTokens, maxPrompt);
  const believed = {
    promptTokens,
    cachedTokens: Math.min(usage.cachedTokens, promptTokens),
    completionTokens: Math.min(usage.completionTokens, maxAnswer * choices),
    images,
  };
  const costNanoUsd = atMost(costOf(believed, prices), MAX_COST_NANO_USD);
  const isBelieved =
    believed.promptTokens === usage.promptTokens && believed.completionTokens === usage.completionTokens;
  if (isBelieved) return { costNanoUsd, implausibleNanoUsd: 0n };
  const reported = atMost(costOf({ ...usage, images }, prices), MAX_COST_NANO_USD);
  return { costNanoUsd, implausibleNanoUsd: reported > costNanoUsd ? reported - costNanoUsd : 0n };
}

function atMost(amount: bigint, max: bigint): bigint {
  return amount < max ? amount : max;
}

/** How long each answer may be when it is paid for in full. */
export function maxAnswerTokens({ model, maxTokens }: PricedRequest): number {
  return maxTokens ?? model.maxOutputTokens ?? model.contextTokens ?? MAX_ANSWER_TOKENS;
}

/** A request for a model, with the credit that is held for it. */
export interface PaidCall {
  readonly model: CatalogModel;
  readonly priced: PricedRequest;
  readonly hold: Hold;
  /** How long each answer may be where credit covers the request only in part; `null`: as long as was asked for. */
  readonly affordableTokens: number | null;
}

/** How long each answer is paid for; `null`: it costs nothing. */
export function paidTokens({ model, priced, affordableTokens }: PaidCall): number | null {
  return model.prices === null ? null : (affordableTokens ?? maxAnswerTokens(priced));
}
