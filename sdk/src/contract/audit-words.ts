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
 * The model under which usage counts requests for models that the catalog does not have. Entries have the name that was asked for. The
 * name of no model holds a space.
 */
export const UNKNOWN_MODEL = "unknown model";
