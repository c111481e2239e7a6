import { Failure } from "../errors/failure.ts";
import type { LeastSeenSpender } from "./credit-store.ts";

/** A running node is seen every second. */
const SEEN_MS = 5_000;

export function exhausted(): Failure {
  return new Failure(
    "credit_balance_exhausted",
    "The account's credit does not cover this request. Ask the operator of the service for credit, or request fewer tokens.",
  );
}

function unavailable(message: string, retryAfterMs: number, cause?: Error): Failure {
  return new Failure("server_is_overloaded", message, { retryAfterMs, cause });
}

/** What the log says instead of the client's message if an absent node has reserved credit of the account. */
function absence(leastSeen: LeastSeenSpender | null): Error | undefined {
  if (leastSeen === null || leastSeen.unseenMs < SEEN_MS) return undefined;
  const { id, unseenMs } = leastSeen;
  return new Error(
    `The account's credit is reserved by node ${id} of the command "nodes list", which was last seen ${Math.round(unseenMs / 1_000)} s ago. ` +
      `If it will not return, run: ostiary-server operator nodes release ${id} --reason "<text>"`,
  );
}

/** `leastSeen`: of the spenders that have reserved it. */
export function reservedElsewhere(leastSeen: LeastSeenSpender | null): Failure {
  return unavailable(
    "The account's credit is reserved for other requests that are being answered. Try again when they have ended.",
    1_000,
    absence(leastSeen),
  );
}

/** As {@link reservedElsewhere}. */
export function reservedByAbsentNode(leastSeen: LeastSeenSpender | null): Failure {
  return unavailable(
    "The account's remaining credit is reserved by a node that is not running. Try again later; the operator of the service can release it.",
    30_000,
    absence(leastSeen),
  );
}

export function databaseUnavailable(): Failure {
  return unavailable(
    "The service cannot check the account's credit at the moment. Try again shortly.",
    1_000,
  );
}
