import type { UpstreamHealth } from "../../../api/types.ts";

type Breaker = UpstreamHealth["breaker"];

interface Health {
  readonly tone: "good" | "bad" | "warning";
  readonly label: string;
  /** What the state means for requests. */
  readonly note: string;
}

/** The health of an upstream, by the state of its breaker. */
export const HEALTH: Readonly<Record<Breaker, Health>> = {
  closed: { tone: "good", label: "Healthy", note: "accepts requests" },
  open: { tone: "bad", label: "Down", note: "paused after failures" },
  "half-open": { tone: "warning", label: "Recovering", note: "the next request tests it" },
};

interface UpstreamState {
  readonly name: string;
  readonly breaker: Breaker;
}

/** What is wrong with upstreams, a sentence or two for each state. The texts stay the same while nothing changes, as screen readers announce them. */
export function upstreamProblems(upstreams: readonly UpstreamState[]): readonly string[] {
  const named = (state: Breaker) =>
    upstreams.filter(({ breaker }) => breaker === state).map(({ name }) => name);
  const [down, recovering] = [named("open"), named("half-open")];
  return [
    ...(down.length === 0
      ? []
      : [`Down: ${down.join(", ")}. Requests use other routes, or are refused where there are none.`]),
    ...(recovering.length === 0
      ? []
      : [
          `Recovering: ${recovering.join(", ")}. The next request tests ${recovering.length === 1 ? "it" : "each of them"}.`,
        ]),
  ];
}
