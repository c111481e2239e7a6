import type { NodeStatus } from "../../../api/types.ts";
import { upstreamProblems } from "../upstreams/health.ts";

/** A lag below this is that of batches. */
const MAX_LAG_MS = 10_000;
/** Beyond it the node or the database has a wrong clock. */
const MAX_SKEW_MS = 60_000;
/** A certificate that is renewed by itself is renewed before this much is left. */
const MIN_CERTIFICATE_DAYS = 14;
const DAY_MS = 24 * 60 * 60_000;

/** What is wrong with a node and what to do, a sentence or two each. The texts stay the same while nothing changes, as screen readers announce them. */
export function problemsOf(node: NodeStatus, now: number): readonly string[] {
  const { database, redis, isFenced, recorder, journal, unpublishedChanges, clockSkewMs } = node;
  const certificateMs = (node.certificateExpiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - now;
  const problems: readonly (readonly [isTrue: boolean, text: string])[] = [
    [!database.isUp, "PostgreSQL does not answer: entries wait in the journal."],
    [redis?.isUp === false, "Redis does not answer: requests are refused."],
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
  const upstreams = node.breakers.map(({ upstream, state }) => ({ name: upstream, breaker: state }));
  return [...problems.filter(([isTrue]) => isTrue).map(([, text]) => text), ...upstreamProblems(upstreams)];
}
