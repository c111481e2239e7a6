import type { UsageSource } from "../contract/entry.ts";
import { type CostBasis, chargeFor } from "../credits/request-cost.ts";
import type { Routed } from "../gateway/gateway.ts";
import type { RoutesFailed } from "../gateway/routes-failed.ts";
import type { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { UpstreamRefused, type WireAnswer } from "../upstream/dialect.ts";
import { type EntryFacts, factsWithoutUsage } from "./reply.ts";

/** The facts of an answer. `reported`: the usage of its upstream; `null`: it is estimated. */
export type FactsOf = (reported: Usage | null) => FoundFacts | Promise<FoundFacts>;

type FoundFacts = EntryFacts & { readonly usage: Usage };

/** The values from which the facts of an answer are computed, besides the answer itself. */
interface AnswerParts {
  readonly costBasis: CostBasis;
  /** Counts the tokens of the request and of what was produced. */
  readonly estimate: (produced: TextTally) => Promise<Usage>;
  readonly timeToFirstTokenMs: number;
}

/** Returns the function that finds the facts of an answer once it has ended. */
export function factsOfAnswer(
  { answer, upstream }: Routed<WireAnswer>,
  { costBasis, estimate, timeToFirstTokenMs }: AnswerParts,
): FactsOf {
  // Images that were left out are not paid for.
  const isPartlySent = answer.images !== undefined && answer.images < costBasis.images;
  const paidBasis = isPartlySent ? { ...costBasis, images: answer.images } : costBasis;
  const factsWith = (usage: Usage, usageSource: UsageSource): FoundFacts => {
    // Fields are listed by name, because spreading objects costs more CPU time.
    const { costNanoUsd, countedTokens, implausibleNanoUsd } = chargeFor(paidBasis, usage);
    return {
      model: costBasis.model.id,
      upstream,
      usage,
      usageSource,
      costNanoUsd,
      countedTokens,
      implausibleNanoUsd,
      timeToFirstTokenMs,
    };
  };
  return (reported) => {
    if (reported !== null && isCountOf(answer, reported)) return factsWith(reported, "upstream");
    if (answer.kind === "whole" && answer.counted !== undefined)
      return factsWith(answer.counted, "estimated");
    return estimate(answer.produced()).then((counted) =>
      factsWith(estimatedUsage(answer, reported, counted), "estimated"),
    );
  };
}

/** Whether an upstream has counted the answer. Servers that do not count report 0, which no prompt has, and no answer with a text. */
function isCountOf(answer: WireAnswer, { promptTokens, completionTokens }: Usage): boolean {
  return promptTokens > 0 && (completionTokens > 0 || answer.produced().isEmpty);
}

/**
 * The usage of an answer whose upstream has not counted all of it. `counted`: by the service. What the upstream has reported of the prompt is
 * believed. Of the answer it may have counted only a beginning, or nothing.
 */
function estimatedUsage(answer: WireAnswer, reported: Usage | null, counted: Usage): Usage {
  const known = reported ?? (answer.kind === "stream" ? (answer.usageSoFar?.() ?? null) : null);
  if (known === null) return counted;
  return {
    ...known,
    promptTokens: known.promptTokens === 0 ? counted.promptTokens : known.promptTokens,
    completionTokens: Math.max(known.completionTokens, counted.completionTokens),
  };
}

/** What is known of an answer that has failed. Its upstream may have reported a usage with the failure, or the service has counted it. */
export function factsOfFailure(
  { upstream, reason, counted }: RoutesFailed,
  costBasis: CostBasis,
): EntryFacts {
  const reported = reason instanceof UpstreamRefused ? reason.usage : null;
  const usage = reported ?? counted;
  const model = costBasis.model.id;
  if (usage === null) return factsWithoutUsage(model, upstream);
  const { costNanoUsd, countedTokens, implausibleNanoUsd } = chargeFor(costBasis, usage);
  return {
    model,
    upstream,
    usage,
    usageSource: reported === null ? "estimated" : "upstream",
    costNanoUsd,
    countedTokens,
    implausibleNanoUsd,
    timeToFirstTokenMs: null,
  };
}
