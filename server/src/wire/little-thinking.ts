import type { Json } from "../json/json.ts";

/**
 * The types of Anthropic's `thinking` with which a model thinks as little as it can: clients send the second one for models that can't do without.
 */
export const LITTLE_THINKING: ReadonlySet<Json | undefined> = new Set(["disabled", "between_tools"]);
