import {
  type Conversation,
  cannot,
  type Effort,
  nameOf,
  type Reasoning,
} from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import { BUDGET_SHARES } from "../write-conversation.ts";
import type { ModelTraits } from "./models.ts";

/** Anthropic's minimum for a thinking budget. */
const MIN_BUDGET_TOKENS = 1_024;
/** The share of what is paid for that thinking may take. */
const PAID_SHARE = 0.8;

/** How a model is asked to think. */
export interface Thinking {
  /** The field `thinking`. */
  readonly field: JsonObject | null;
  /** The `effort` in `output_config`. */
  readonly effort: string | null;
  /** The budget in {@link field}. */
  readonly budgetTokens: number | null;
  /** Whether the client has asked for a budget that the model does not take. */
  readonly isBudgetIgnored: boolean;
}

const AS_BY_DEFAULT: Thinking = { field: null, effort: null, budgetTokens: null, isBudgetIgnored: false };

export function thinkingOf(reasoning: Reasoning | null, traits: ModelTraits): Thinking {
  if (reasoning === null) return AS_BY_DEFAULT;
  const { effort, budgetTokens } = reasoning;
  if (effort === null) {
    if (budgetTokens !== null && traits.hasBudgets) return withBudget(budgetTokens);
    return { ...AS_BY_DEFAULT, field: { type: "adaptive" }, isBudgetIgnored: budgetTokens !== null };
  }
  if (effort === "none") return withoutThinking(traits);
  if (traits.hasAdaptiveThinking) {
    const field = { type: "adaptive", display: "summarized" };
    return { ...AS_BY_DEFAULT, field, effort: effortOf(effort, traits) };
  }
  const share = Math.round(traits.maxTokens * BUDGET_SHARES[effort]);
  return withBudget(Math.max(MIN_BUDGET_TOKENS, share));
}

/** Whether the model thinks, and so takes no sampling parameters. */
export function isThinking({ field }: Thinking): boolean {
  return field !== null && field.type !== "disabled";
}

/**
 * Thinking within the tokens that are paid for, of which the answer needs some, too.
 *
 * @throws {Failure} `invalid_request` when they are too few for any thinking.
 */
export function thinkingWithin(thinking: Thinking, maxTokens: number, conversation: Conversation): Thinking {
  if (thinking.budgetTokens === null) return thinking;
  if (maxTokens <= MIN_BUDGET_TOKENS) {
    const needs = `needs ${nameOf(conversation, "maxTokens")}, and credit, of more than ${MIN_BUDGET_TOKENS} tokens`;
    throw cannot(nameOf(conversation, "reasoning"), needs);
  }
  const paid = Math.max(MIN_BUDGET_TOKENS, Math.floor(maxTokens * PAID_SHARE));
  return withBudget(Math.min(thinking.budgetTokens, paid));
}

function withBudget(budgetTokens: number): Thinking {
  return { ...AS_BY_DEFAULT, field: { type: "enabled", budget_tokens: budgetTokens }, budgetTokens };
}

function withoutThinking({ minThinking }: ModelTraits): Thinking {
  return minThinking === "low"
    ? { ...AS_BY_DEFAULT, effort: minThinking }
    : { ...AS_BY_DEFAULT, field: { type: minThinking } };
}

function effortOf(effort: Exclude<Effort, "none">, { hasXhighEffort }: ModelTraits): string {
  if (effort === "minimal") return "low";
  return effort === "xhigh" && !hasXhighEffort ? "high" : effort;
}
