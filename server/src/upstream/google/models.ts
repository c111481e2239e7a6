import type { Effort } from "../../conversation/conversation.ts";

export type ThinkingLevel = Extract<Effort, "minimal" | "low" | "medium" | "high" | "xhigh">;

/** What Google's models differ in. The API refuses what a model does not have. */
export interface ModelTraits {
  /** Whether it takes instructions in a field of their own. */
  readonly hasInstructions: boolean;
  /** Whether it signs its calls, and refuses those of a conversation that are not signed. */
  readonly hasSignedCalls: boolean;
  /** Whether the result of a tool may contain images and documents. */
  readonly hasMediaInResults: boolean;
  /** Whether it is asked for JSON by a tool where it does not take a schema together with the client's tools. */
  readonly hasAnswerTool: boolean;
  /** Whether it takes a schema of its answer together with tools, unless it has to call one. */
  readonly hasSchemaWithTools: boolean;
  /** The levels of thinking that it takes, the lowest first. `null`: it thinks within a budget. */
  readonly thinkingLevels: readonly ThinkingLevel[] | null;
  readonly minBudgetTokens: number;
  readonly maxBudgetTokens: number;
}

const GEMINI = /(?:^|[/.])gemini-/i;
/** Models before Gemini 3. What is newer than this list has what Gemini 3 has. */
const BEFORE_GEMINI_3 =
  /(?:^|[/.])(?:gemini-[12](?:[.-]|$)|gemini-pro(?:-vision)?$|gemini-robotics-er-1\.5(?:[.-]|$))/i;
/** Models whose lowest level of thinking is `low`. */
const WITHOUT_MINIMAL = [
  /(?:^|[/.])gemini-flash-latest$/i,
  /(?:^|[/.])gemini-(?:[3-9]|\d{2,})(?:\.\d+)?-pro(?:$|-[^/]*$)/i,
  /(?:^|[/.])gemini-(?:3\.(?:[7-9]|\d{2,})|(?:[4-9]|\d{2,})\.\d+)-flash(?:$|-(?!lite(?:-|$))[^/]*$)/i,
];
const HYDROGEN = /(?:^|[/.])gemini-4-hydrogen(?:-|$)/i;

export function traitsOf(model: string): ModelTraits {
  const hasGemini3 = GEMINI.test(model) && !BEFORE_GEMINI_3.test(model);
  const isPro = /2\.5-pro/i.test(model);
  const isProImage = /gemini-3-pro-image/i.test(model);
  return {
    hasInstructions: !/^gemma-/i.test(model),
    hasSignedCalls: hasGemini3,
    hasMediaInResults: hasGemini3,
    hasAnswerTool: /(?:^|\/)gemini-/i.test(model),
    hasSchemaWithTools: hasGemini3,
    thinkingLevels: hasGemini3 && !isProImage ? levelsOf(model) : null,
    minBudgetTokens: isPro ? 128 : 0,
    maxBudgetTokens: isPro || isProImage ? 32_768 : 24_576,
  };
}

function levelsOf(model: string): readonly ThinkingLevel[] {
  if (HYDROGEN.test(model)) return ["low", "medium", "high", "xhigh"];
  return WITHOUT_MINIMAL.some((pattern) => pattern.test(model))
    ? ["low", "medium", "high"]
    : ["minimal", "low", "medium", "high"];
}

/** A model's path below the base URL. Names such as `tunedModels/x` are paths already. */
export function modelPath(model: string): string {
  return model.includes("/") ? model : `models/${model}`;
}
