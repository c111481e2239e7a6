import type { NodeStatus } from "../../../api/types.ts";
import { upstreamProblems } from "../upstreams/health.ts";

/** A lag below this is that of batches. */
const MAX_LAG_MS = 10_000;
/** Beyond it the node or the database has a wrong clock. */
const MAX_SKEW_MS = 60_000;
/** A certificate that is renewed by itself is renewed before this much is left. */
const MIN_CERTIFICATE_DAYS = 14;
const DAY_MS = 24 * 60 * 60_000;

/** What must be the same on all nodes, by the setting that differs. */
const MUST_BE_SHARED: Readonly<Record<NodeStatus["settingDifferences"][number]["setting"], string>> = {
  plans: "other plans than this node. Give every node the same OSTIARY_PLANS.",
  catalog: "another catalog than this node. Give every node the same catalog file.",
  prices: "other prices than this node. Give every node the same catalog file.",
  responses:
    "other keys or another retention of stored responses than this node. Give every node the same OSTIARY_RESPONSES_KEY and OSTIARY_RESPONSES_TTL_DAYS.",
};

/** What a store that is not up does instead. During an upgrade, a node of an older version may answer, which does not report it. */
export function complaintOf(store: { readonly problem?: string | null } | null): string {
  return store?.problem ?? "does not answer";
}

/** What is wrong with a node and what to do, a sentence or two each. The texts stay the same while nothing changes, as screen readers announce them. */
export function problemsOf(node: NodeStatus, now: number): readonly string[] {
  const { database, redis, isFenced, recorder, journal, unpublishedChanges, clockSkewMs } = node;
  const certificateMs = (node.certificateExpiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - now;
  const problems: readonly (readonly [isTrue: boolean, text: string])[] = [
    [!database.isUp, `PostgreSQL ${complaintOf(database)}: entries wait in the journal.`],
    [redis?.isUp === false, `Redis ${complaintOf(redis)}: requests are refused.`],
    [
      isFenced,
      "This node uses another Redis server than the others and admits no requests. Check REDIS_URL.",
    ],
    [
      redis?.mayEvict === true,
      "Redis may evict keys, which lifts rate limits. Set maxmemory-policy to noeviction.",
    ],
    [unpublishedChanges > 0, "Changes such as revocations are not in force on every node yet."],
    [recorder.lagMs > MAX_LAG_MS, "Audit entries wait for the database."],
    [journal.rejectedLines > 0, "The journal has rejected lines. Repair it with `operator journal`."],
    [
      Math.abs(clockSkewMs ?? 0) > MAX_SKEW_MS,
      "The clocks of this node and the database differ. Correct them.",
    ],
    [certificateMs <= 0, "The TLS certificate has expired: clients refuse to connect. Renew it."],
    [
      certificateMs > 0 && certificateMs < MIN_CERTIFICATE_DAYS * DAY_MS,
      `The TLS certificate expires in less than ${MIN_CERTIFICATE_DAYS} days. Renew it.`,
    ],
  ];
  // During an upgrade, a node of an older version may answer. It reports none. A shorter difference is that of a change that reaches one node after the other.
  const settings = (node.settingDifferences ?? [])
    .filter(({ isLasting }) => isLasting)
    .map(({ setting }) => `For more than 10 minutes, other nodes have had ${MUST_BE_SHARED[setting]}`);
  const upstreams = node.breakers.map(({ upstream, state, isCredentialRefused }) => ({
    name: upstream,
    breaker: state,
    isCredentialRefused,
  }));
  return [
    ...problems.filter(([isTrue]) => isTrue).map(([, text]) => text),
    ...settings,
    ...upstreamProblems(upstreams),
  ];
}
