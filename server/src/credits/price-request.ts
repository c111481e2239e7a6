import type { CatalogModel } from "../catalog/catalog.ts";
import { costOf } from "../catalog/prices.ts";
import type { HoldRange } from "./credits.ts";

/** Where neither the request nor the catalog says how long an answer may be. */
const LONGEST_ANSWER_TOKENS = 32_768;
/** An answer that is shorter is of no use to anybody. */
const SHORTEST_ANSWER_TOKENS = 16;
const MOST_IMAGE_TOKENS = 8_192;
const MOST_FILE_TOKENS = 65_536;
const MTOK = 1_000_000n;

export interface PricedRequest {
  readonly model: CatalogModel;
  /** Of the body: no token is shorter than a byte, so there are at most as many. */
  readonly bytes: number;
  /** The most that the client has asked for; `null`: as many as the model gives. */
  readonly maxTokens: number | null;
  /** How many answers. */
  readonly choices: number;
  /** Images in the prompt. */
  readonly images: number;
  /** Files and recordings in the prompt. */
  readonly files: number;
}

/** What a request may cost. */
export function rangeOf(request: PricedRequest): HoldRange {
  const { choices, images } = request;
  const { prices } = request.model;
  if (prices === null) return { leastNanoUsd: 0n, mostNanoUsd: 0n };
  const longest = longestAnswer(request);
  const cost = (completionTokens: number) =>
    costOf({ promptTokens: promptTokensOf(request), cachedTokens: 0, completionTokens, images }, prices);
  return {
    leastNanoUsd: cost(Math.min(longest, SHORTEST_ANSWER_TOKENS) * choices),
    mostNanoUsd: cost(longest * choices),
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
function promptTokensOf({ model, bytes, images, files }: PricedRequest): number {
  const most = bytes + images * MOST_IMAGE_TOKENS + files * MOST_FILE_TOKENS;
  return Math.min(most, model.contextTokens ?? most);
}

/** How long each answer may be when it is paid for in full. */
export function longestAnswer({ model, maxTokens }: PricedRequest): number {
  return maxTokens ?? model.maxOutputTokens ?? model.contextTokens ?? LONGEST_ANSWER_TOKENS;
}
