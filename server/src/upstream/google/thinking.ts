import { EFFORTS, type Effort, type Reasoning } from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import { BUDGET_SHARES } from "../reasoning-effort.ts";
import { given } from "../write-conversation.ts";
import type { ModelTraits, ThinkingLevel } from "./models.ts";

/** The maximum tokens that budgets are shares of. */
const MAX_TOKENS = 65_536;

/** The field `thinkingConfig`; `undefined`: the model thinks as it does by default. */
export function thinkingOf(reasoning: Reasoning | null, traits: ModelTraits): JsonObject | undefined {
  if (reasoning === null) return undefined;
  const { effort, budgetTokens, summary, showsThoughts = false } = reasoning;
  // Google refuses to show thoughts where there are none.
  const includeThoughts = ((showsThoughts || summary !== null) && effort !== "none") || undefined;
  if (effort === null) {
    const thinkingBudget = given(budgetWithin(budgetTokens, traits));
    const saysNothing = includeThoughts === undefined && thinkingBudget === undefined;
    return saysNothing ? undefined : { includeThoughts, thinkingBudget };
  }
  const { thinkingLevels: levels } = traits;
  return {
    includeThoughts,
    thinkingBudget: levels === null ? budgetOf(effort, traits) : undefined,
    thinkingLevel: levels === null ? undefined : levelOf(effort, levels),
  };
}

function budgetOf(effort: Effort, traits: ModelTraits): number {
  const wanted = effort === "none" ? 0 : Math.round(MAX_TOKENS * BUDGET_SHARES[effort]);
  return withinBounds(wanted, traits);
}

/** A budget that a client gives. Models that think by levels have no known bounds. */
function budgetWithin(budgetTokens: number | null, traits: ModelTraits): number | null {
  return budgetTokens === null || traits.thinkingLevels !== null
    ? budgetTokens
    : withinBounds(budgetTokens, traits);
}

/** Google refuses other budgets. Some models can't do without thinking. */
function withinBounds(budgetTokens: number, { minBudgetTokens, maxBudgetTokens }: ModelTraits): number {
  return Math.min(maxBudgetTokens, Math.max(minBudgetTokens, budgetTokens));
}

/** The highest level that is not above the effort; otherwise the lowest one. */
function levelOf(effort: Effort, levels: readonly ThinkingLevel[]): ThinkingLevel | undefined {
  const allowed = levels.filter((level) => EFFORTS.indexOf(level) <= EFFORTS.indexOf(effort));
  return allowed.at(-1) ?? levels[0];
}
