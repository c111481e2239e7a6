import type { Upstream } from "../../catalog/catalog.ts";
import { hostOf } from "../host.ts";

/** What Anthropic's models differ in. The API refuses what a model does not have. */
export interface ModelTraits {
  /** The maximum tokens of an answer. It is sent if nothing else limits the answer, because the API requires a maximum. */
  readonly maxTokens: number;
  /** Whether {@link maxTokens} is known to be the model's own, which a request may not exceed. */
  readonly isKnown: boolean;
  /** Whether it has structured outputs, and strict tools. */
  readonly hasOutputSchemas: boolean;
  /** Whether it takes a temperature, `top_p` and `top_k`. */
  readonly hasSampling: boolean;
  /** Whether it takes `top_p` together with a temperature. */
  readonly hasTopPWithTemperature: boolean;
  /** Whether it decides how much to think, by an effort. Others think within a budget. */
  readonly hasAdaptiveThinking: boolean;
  /** Whether it takes a budget for thinking. */
  readonly hasBudgets: boolean;
  readonly hasXhighEffort: boolean;
  /** Whether it can be made to call a tool. */
  readonly hasForcedCalls: boolean;
  /** Whether it takes instructions within a conversation. */
  readonly hasLateInstructions: boolean;
  /** How it thinks as little as possible: not at all, only between its calls, or with a low effort. */
  readonly minThinking: "disabled" | "between_tools" | "low";
}

const EARLY: ModelTraits = {
  maxTokens: 4_096,
  isKnown: true,
  hasOutputSchemas: false,
  hasSampling: true,
  hasTopPWithTemperature: true,
  hasAdaptiveThinking: false,
  hasBudgets: true,
  hasXhighEffort: false,
  hasForcedCalls: true,
  hasLateInstructions: false,
  minThinking: "disabled",
};
const WITH_SCHEMAS: ModelTraits = { ...EARLY, hasOutputSchemas: true, hasTopPWithTemperature: false };
const ADAPTIVE: ModelTraits = { ...WITH_SCHEMAS, maxTokens: 128_000, hasAdaptiveThinking: true };
const WITHOUT_SAMPLING: ModelTraits = { ...ADAPTIVE, hasSampling: false, hasXhighEffort: true };
const WITH_LATE: ModelTraits = { ...WITHOUT_SAMPLING, hasLateInstructions: true };
const ALWAYS_THINKING: ModelTraits = { ...WITH_LATE, hasBudgets: false, minThinking: "low" };

/** The first pattern that a model's name matches decides. Names of models on other platforms contain Anthropic's. */
const MODELS: readonly (readonly [pattern: RegExp, traits: ModelTraits])[] = [
  [/claude-sonnet-5-5/, { ...ALWAYS_THINKING, hasForcedCalls: false, minThinking: "between_tools" }],
  [/claude-opus-5-5|claude-fable-5-[12]/, { ...ALWAYS_THINKING, hasForcedCalls: false }],
  [/claude-haiku-5-5/, { ...WITH_LATE, hasBudgets: false }],
  [/claude-fable-5/, ALWAYS_THINKING],
  [/claude-opus-(?:5|4-8)/, WITH_LATE],
  [/claude-(?:opus-4-7|sonnet-5)/, WITHOUT_SAMPLING],
  [/claude-(?:sonnet|opus)-4-6/, ADAPTIVE],
  [/claude-(?:sonnet|opus|haiku)-4-5/, { ...WITH_SCHEMAS, maxTokens: 64_000 }],
  [/claude-opus-4-1/, { ...WITH_SCHEMAS, maxTokens: 32_000 }],
  [/claude-sonnet-4[-@]/, { ...EARLY, maxTokens: 64_000 }],
  [/claude-opus-4[-@]/, { ...EARLY, maxTokens: 32_000 }],
  [/claude-3-haiku/, EARLY],
  [/claude-(?:instant(?:-|$)|v?2(?=$|[-.:])|3(?=$|[-.]))/, { ...EARLY, isKnown: false }],
  // A model that is newer than this list.
  [/claude-/, { ...WITH_LATE, isKnown: false }],
];
/** The traits of other providers' models that are served by Anthropic's API. */
const FOREIGN: ModelTraits = { ...EARLY, isKnown: false };

/** Hosts that serve only Anthropic's models by this API, under whatever name: Anthropic's own, Amazon's, Google's and Microsoft's. */
const ANTHROPIC_HOST = /^$|^api\.anthropic\.com$|\.(?:amazonaws|googleapis|services\.ai\.azure)\.com$/;

/** Whether a model is one of Anthropic's, and not of another provider that serves its models by this API. */
export function isAnthropicModel(model: string, upstream: Upstream): boolean {
  return traitsOf(model) !== FOREIGN || ANTHROPIC_HOST.test(hostOf(upstream));
}

export function traitsOf(model: string): ModelTraits {
  const name = model.toLowerCase();
  return MODELS.find(([pattern]) => pattern.test(name))?.[1] ?? FOREIGN;
}
