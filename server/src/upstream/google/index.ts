import { AiSdkDialect } from "../ai-sdk/ai-sdk-dialect.ts";
import { AI_SDK_SETTINGS, type ProviderLimits } from "../ai-sdk/provider.ts";
import type { DialectDefinition } from "../dialect.ts";

const LIMITS: ProviderLimits = {
  optionsName: "google",
  unsupported: new Set(["presence_penalty", "frequency_penalty"]),
  maxTemperature: 2,
  hasOneOfTemperatureAndTopP: false,
  thinksAlone: false,
  hasJsonWithoutSchema: true,
  oneCallAtATime: null,
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
      load: async () => (await import("@ai-sdk/google")).createGoogleGenerativeAI,
    }),
};
