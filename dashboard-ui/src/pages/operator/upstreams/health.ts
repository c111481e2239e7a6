import type { UpstreamHealth } from "../../../api/types.ts";

interface Health {
  readonly tone: "good" | "bad" | "warning";
  readonly label: string;
  /** What the state means for requests. */
  readonly note: string;
}

/** The health of an upstream, by the state of its breaker. */
export const HEALTH: Readonly<Record<UpstreamHealth["breaker"], Health>> = {
  closed: { tone: "good", label: "Healthy", note: "accepts requests" },
  open: { tone: "bad", label: "Down", note: "paused after failures" },
  "half-open": { tone: "warning", label: "Recovering", note: "testing" },
};
