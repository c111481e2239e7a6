import { AiSdkDialect } from "../ai-sdk/ai-sdk-dialect.ts";
import { AI_SDK_SETTINGS, FEW_LIMITS, type ProviderLimits } from "../ai-sdk/provider.ts";
import type { DialectDefinition } from "../dialect.ts";

const LIMITS: ProviderLimits = {
  ...FEW_LIMITS,
  optionsName: "google",
  unsupported: new Set(["presencePenalty", "frequencyPenalty"]),
  hasSystemAnywhere: false,
  thinkingOf: (budgetTokens) => ({
    thinkingConfig: {
      includeThoughts: true,
      ...(budgetTokens === null ? {} : { thinkingBudget: budgetTokens }),
    },
  }),
  dimensionsOption: "outputDimensionality",
};

/** Google's Gemini API, through its package of the AI SDK. */
export const google: DialectDefinition = {
  name: "google",
  settings: AI_SDK_SETTINGS,
  open: (parts) =>
    new AiSdkDialect(parts, {
      limits: LIMITS,
      nameOf: () => "google",
      defaultBaseUrl: "https://generativelanguage.googleapis.com/v1beta",
      load: async () => (await import("@ai-sdk/google")).createGoogleGenerativeAI,
    }),
};
