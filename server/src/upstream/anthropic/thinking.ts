import {
  type Conversation,
  cannot,
  type Effort,
  nameOf,
  type Reasoning,
} from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import { BUDGET_SHARES } from "../reasoning-effort.ts";
import type { ModelTraits } from "./models.ts";

/** Anthropic's minimum for a thinking budget. */
const MIN_BUDGET_TOKENS = 1_024;
/** The share of a request's maximum that thinking may take where the maximum is less than both would need. */
const MAX_SHARE = 0.8;
/** The effort of a model with budgets that may think as much as it sees fit. */
const USUAL_EFFORT = "medium";

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
  const { effort } = reasoning;
  const budgetTokens = ownBudgetOf(reasoning);
  if (effort === "none") return withoutThinking(traits);
  if (budgetTokens !== null && traits.hasBudgets) return withBudget(budgetTokens);
  if (traits.hasAdaptiveThinking) {
    const field = { type: "adaptive", display: "summarized" };
    const isBudgetIgnored = budgetTokens !== null;
    return { ...AS_BY_DEFAULT, field, effort: effort && effortOf(effort, traits), isBudgetIgnored };
  }
  return withBudget(Math.round(traits.maxTokens * BUDGET_SHARES[effort ?? USUAL_EFFORT]));
}

/** The budget that the client gives, which an effort beside it replaces. */
export function ownBudgetOf({ effort, budgetTokens }: Reasoning): number | null {
  return effort === null ? budgetTokens : null;
}

/** Whether the model thinks, and so takes no sampling parameters. */
export function isThinking({ field }: Thinking): boolean {
  return field !== null && field.type !== "disabled";
}

/**
 * Thinking within the maximum of a request, which must also leave tokens for the answer. The maximum is what is paid for, or the model's.
 *
 * @throws {Failure} `invalid_request` when it leaves too few tokens for any thinking.
 */
export function thinkingWithin(thinking: Thinking, maxTokens: number, conversation: Conversation): Thinking {
  if (thinking.budgetTokens === null) return thinking;
  if (maxTokens <= MIN_BUDGET_TOKENS) {
    const needs = `needs ${nameOf(conversation, "maxTokens")}, and credit, of more than ${MIN_BUDGET_TOKENS} tokens`;
    throw cannot(nameOf(conversation, "reasoning"), needs);
  }
  return withBudget(Math.min(thinking.budgetTokens, Math.floor(maxTokens * MAX_SHARE)));
}

function withBudget(asked: number): Thinking {
  const budgetTokens = Math.max(MIN_BUDGET_TOKENS, asked);
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
