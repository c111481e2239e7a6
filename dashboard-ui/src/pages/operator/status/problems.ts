import type { NodeStatus } from "../../../api/types.ts";

/** A lag below this is that of batches. */
const MAX_LAG_MS = 10_000;
/** Beyond it the node or the database has a wrong clock. */
const MAX_SKEW_MS = 60_000;

/** What is wrong with a node and what to do, a sentence or two each. The texts stay the same while nothing changes, as screen readers announce them. */
export function problemsOf(node: NodeStatus): readonly string[] {
  const { database, redis, isFenced, recorder, journal, unpublishedChanges, clockSkewMs, breakers } = node;
  const down = breakers.filter(({ state }) => state === "open").map(({ upstream }) => upstream);
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
    [down.length > 0, `Down: ${down.join(", ")}.`],
  ];
  return problems.filter(([isTrue]) => isTrue).map(([, text]) => text);
}
