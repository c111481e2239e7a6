import type { UpstreamHealth } from "../../../api/types.ts";

type Breaker = UpstreamHealth["breaker"];

interface Health {
  readonly tone: "good" | "bad" | "warning";
  readonly label: string;
  /** What the state means for requests. */
  readonly note: string;
}

const HEALTH: Readonly<Record<Breaker, Health>> = {
  closed: { tone: "good", label: "Healthy", note: "accepts requests" },
  open: { tone: "bad", label: "Down", note: "paused after failures" },
  "half-open": { tone: "warning", label: "Recovering", note: "the next request tests it" },
};
const UNAUTHORIZED: Health = { tone: "bad", label: "Unauthorized", note: "rejects the credential" };

interface UpstreamState {
  readonly name: string;
  readonly breaker: Breaker;
  /** Whether it rejects the service's credential. During an upgrade, a node of an older version may answer, which does not report it. */
  readonly isCredentialRefused?: boolean | undefined;
}

/** The health of an upstream, by the state of its breaker. It takes several failures to open: before that, a rejected credential is told. */
export function healthOf({ breaker, isCredentialRefused }: Omit<UpstreamState, "name">): Health {
  return breaker === "closed" && isCredentialRefused === true ? UNAUTHORIZED : HEALTH[breaker];
}

/** What is wrong with upstreams, a sentence or two for each state. The texts stay the same while nothing changes, as screen readers announce them. */
export function upstreamProblems(upstreams: readonly UpstreamState[]): readonly string[] {
  const namesOf = (isMeant: (upstream: UpstreamState) => boolean) =>
    upstreams.filter(isMeant).map(({ name }) => name);
  const down = namesOf(({ breaker }) => breaker === "open");
  const recovering = namesOf(({ breaker }) => breaker === "half-open");
  const unauthorized = namesOf(({ isCredentialRefused }) => isCredentialRefused === true);
  return [
    ...(down.length === 0
      ? []
      : [`Down: ${down.join(", ")}. Requests use other routes, or are refused where there are none.`]),
    ...(recovering.length === 0
      ? []
      : [
          `Recovering: ${recovering.join(", ")}. The next request tests ${recovering.length === 1 ? "it" : "each of them"}.`,
        ]),
    ...(unauthorized.length === 0
      ? []
      : [
          `Credential rejected by ${unauthorized.join(", ")}. Check the value that credentialEnv or credentialFile names in the catalog file.`,
        ]),
  ];
}
