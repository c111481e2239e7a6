import { AiSdkDialect } from "../ai-sdk/ai-sdk-dialect.ts";
import { AI_SDK_SETTINGS, FEW_LIMITS, type ProviderLimits } from "../ai-sdk/provider.ts";
import type { DialectDefinition } from "../dialect.ts";
import { messagesReader } from "./answer-events.ts";
import { DEFAULT_BASE_URL, messagesWire } from "./messages-wire.ts";

const LIMITS: ProviderLimits = {
  ...FEW_LIMITS,
  optionsName: "anthropic",
  unsupported: new Set(["seed", "presencePenalty", "frequencyPenalty"]),
  maxTemperature: 1,
  hasOneOfTemperatureAndTopP: true,
  thinksAlone: true,
  hasJsonWithoutSchema: false,
  oneCallAtATime: { disableParallelToolUse: true },
  thinkingOf: (budgetTokens) => ({
    thinking: budgetTokens === null ? { type: "adaptive" } : { type: "enabled", budgetTokens },
  }),
};

/** Anthropic's Messages API: forwarded for its own clients. For all others its package of the AI SDK writes the requests. */
export const anthropic: DialectDefinition = {
  name: "anthropic",
  settings: AI_SDK_SETTINGS,
  open: (parts) =>
    new AiSdkDialect(
      parts,
      {
        limits: LIMITS,
        nameOf: () => "anthropic",
        load: async () => (await import("@ai-sdk/anthropic")).createAnthropic,
        defaultBaseUrl: DEFAULT_BASE_URL,
        reader: messagesReader,
      },
      messagesWire(parts.transport),
    ),
};
