import * as z from "zod";
import { invalidField, refusalOfInput } from "./refusal.ts";

/** The only model that reasons. The others ignore what a request says of thoughts. */
export const REASONING_MODEL = "reasoning";

/** How many tokens the model `reasoning` thinks. */
const EFFORT_TOKENS: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["minimal", 8],
  ["low", 24],
  ["medium", 64],
  ["high", 160],
  ["xhigh", 320],
  ["max", 640],
]);
const DEFAULT_TOKENS = 64;
const MAX_TOKENS = 640;

const budget = z.number().int().min(0).nullish();

/** The fields by which clients of OpenAI, OpenRouter and LiteLLM ask for thoughts, as `docs/reference/api.md` describes them. */
const fields = z.looseObject({
  reasoning_effort: z.string().nullish(),
  reasoning: z
    .looseObject({
      effort: z.string().nullish(),
      max_tokens: budget,
      enabled: z.boolean().nullish(),
      exclude: z.boolean().nullish(),
    })
    .nullish(),
  include_reasoning: z.boolean().nullish(),
  thinking: z
    .looseObject({
      type: z.enum(["enabled", "adaptive", "disabled"]),
      budget_tokens: budget,
      display: z.enum(["summarized", "omitted"]).nullish(),
    })
    .nullish(),
});

export interface SandboxReasoning {
  readonly maxTokens: number;
  /** The model thinks all the same: its tokens count. */
  readonly isHidden: boolean;
}

/** @throws {SandboxRefusal} a field is not valid, or an effort does not exist. */
export function reasoningOf(body: unknown): SandboxReasoning {
  const parsed = fields.safeParse(body);
  if (!parsed.success) throw refusalOfInput(parsed.error);
  return { maxTokens: tokensOf(parsed.data), isHidden: hidesThoughts(parsed.data) };
}

function tokensOf({ reasoning, thinking, reasoning_effort: effort }: z.output<typeof fields>): number {
  const nested = tokensOfEffort("reasoning.effort", reasoning?.effort);
  const own = tokensOfEffort("reasoning_effort", effort);
  if (reasoning?.enabled === false || thinking?.type === "disabled") return 0;
  const budgetTokens = reasoning?.max_tokens ?? thinking?.budget_tokens ?? null;
  return nested ?? own ?? Math.min(budgetTokens ?? DEFAULT_TOKENS, MAX_TOKENS);
}

function tokensOfEffort(field: string, effort: string | null | undefined): number | null {
  if (effort === null || effort === undefined) return null;
  const tokens = EFFORT_TOKENS.get(effort);
  if (tokens === undefined)
    throw invalidField(field, `must be one of ${[...EFFORT_TOKENS.keys()].join(", ")}`);
  return tokens;
}

function hidesThoughts({
  reasoning,
  thinking,
  include_reasoning: included,
}: z.output<typeof fields>): boolean {
  if (thinking !== null && thinking !== undefined) return thinking.display === "omitted";
  return reasoning?.exclude ?? included === false;
}
