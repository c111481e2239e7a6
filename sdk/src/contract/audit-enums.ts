/** How a request ended. `node_lost`: the process died while it answered, so the outcome is unknown. */
export const END_REASONS = [
  "stop",
  "client_gone",
  "upstream_error",
  "timeout",
  "shutdown",
  "refused",
  "node_lost",
] as const;
/** How a request ended. */
export type EndReason = (typeof END_REASONS)[number];

/** Where an entry's token counts come from. */
export const USAGE_SOURCES = ["upstream", "estimated", "none"] as const;
/** Where an entry's token counts come from: reported by the upstream, counted by the service, or none. */
export type UsageSource = (typeof USAGE_SOURCES)[number];

/**
 * The model under which usage counts requests for models that the catalog does not have. Their entries have the requested name.
 * It contains a space, which no model name does.
 */
export const UNKNOWN_MODEL = "unknown model";
