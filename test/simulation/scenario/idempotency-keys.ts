import type { AuditEntry } from "../../../server/src/contract/entry.ts";
import { type Attempt, tokensIn, type Wish } from "./facts.ts";
import type { Invariant } from "./invariants.ts";

/** A claim's lease, and before it the time by which a claim may reach the database late. */
const MAX_CLAIMED_MS = 5 * 60_000;

/** What the attempts with an idempotency key break, when all is over. `entries`: those of the attempts, without second answers, which are not charged. */
export function* brokenByKey(
  wish: Wish,
  entries: readonly AuditEntry[],
): Generator<readonly [invariant: Invariant, what: string]> {
  // An attempt that failed half-way is charged for what it took, and does not count as the answer.
  const charged = entries.filter(({ costNanoUsd, endReason }) => costNanoUsd > 0n && endReason === "stop");
  const answers = new Set(
    wish.attempts.flatMap(({ outcome }) =>
      outcome?.kind === "whole" ? [/answer \d+ to \d+ took \d+ tokens/.exec(outcome.text)?.[0] ?? ""] : [],
    ),
  );
  const [answer] = answers;
  const key = `the key of request ${wish.index}`;
  if (answers.size > 1) yield ["answered once", `${key}: ${[...answers].join("; ")}`];
  if (charged.length > 1) yield ["key charged once", `${key} was charged ${charged.length} times`];
  if (answer === undefined) return;
  const [first] = charged;
  if (first === undefined) yield ["key charged once", `${key} was answered and never charged`];
  else if (first.costNanoUsd !== BigInt(tokensIn(answer) ?? -1))
    yield ["key charged once", `${key} was charged ${first.costNanoUsd} for "${answer}"`];
}

/** Why an attempt should not have been told that its idempotency key is in use; `null`: it was not, or another one may have claimed it. */
export function stuckKey(attempt: Attempt, databaseClockJumpedMs: number): string | null {
  const { wish, endedMs } = attempt;
  if (endedMs === null || !isToldInUse(attempt)) return null;
  const others = wish.attempts.filter((other) => other !== attempt && !isToldInUse(other));
  const claimedMs = others.map((other) => other.endedMs ?? endedMs);
  const passedMs = endedMs - Math.max(databaseClockJumpedMs, ...claimedMs);
  if (passedMs <= MAX_CLAIMED_MS) return null;
  return `the key of request ${wish.index} is in use ${passedMs / 1_000} s after the last attempt`;
}

function isToldInUse({ outcome }: Attempt): boolean {
  return outcome?.kind === "refused" && outcome.code === "idempotency_key_in_use";
}
