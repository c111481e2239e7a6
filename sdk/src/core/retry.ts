import { isUnsent, lastingProblem } from "./connection-problem.ts";
import { APIConnectionError, APIError } from "./errors.ts";
import { retryAfterMsOf } from "./retry-after.ts";
import type { Api } from "./transport.ts";
import type { WireAnswer } from "./wire.ts";

/** The properties of a call that its retries depend on. */
export interface RetriedCall {
  readonly api: Api;
  readonly idempotencyKey: string | null;
  /** Whether sending the request again does no harm if its work was done. */
  readonly isRepeatable: boolean;
}

/** The outcome of an attempt: an answer that is not a success, or none. */
export type FailedAttempt = { readonly wire: WireAnswer } | APIConnectionError;

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;
/** A longer wait is reported to the caller as an error. For a limit per minute the service asks for up to 59 seconds. */
const MAX_WAIT_MS = 90_000;
/** The interval at which the answer to an earlier attempt is asked for, unless the service says otherwise. */
const IN_USE_WAIT_MS = 1_000;

/** Milliseconds to wait before the next attempt; `null` if a retry cannot help, or could do the work twice. */
export function waitBefore(outcome: FailedAttempt, attempt: number, call: RetriedCall): number | null {
  if (!call.isRepeatable && mayHaveRun(outcome, call)) return null;
  const backoffMs = backoffOf(attempt);
  if (outcome instanceof APIConnectionError) return lastingProblem(outcome) === null ? backoffMs : null;
  const { status, headers } = outcome.wire;
  const advice = headers.get("x-should-retry");
  const retriable = status === 408 || status === 409 || status === 429 || status >= 500;
  if (status === 402 || advice === "false" || (!retriable && advice !== "true")) return null;
  const askedMs = retryAfterMsOf(headers);
  // Without a pause, all clients whose clocks are ahead would retry at once.
  if (!askedMs) return backoffMs;
  return askedMs <= MAX_WAIT_MS ? askedMs : null;
}

/**
 * Milliseconds to wait after the attempt of this number, from 0: 500, doubled for each further one up to a maximum, less a random part of
 * up to a quarter, so that clients do not retry at the same time.
 */
export function backoffOf(attempt: number, maxMs: number = MAX_BACKOFF_MS): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** attempt, maxMs) * (1 - Math.random() * 0.25);
}

/**
 * Whether the work may have been done although the answer is an error or was lost. The service undoes requests to models that it
 * answers with an error, but a proxy's error says nothing about them.
 */
function mayHaveRun(outcome: FailedAttempt, { api }: RetriedCall): boolean {
  if (outcome instanceof APIConnectionError) return !isUnsent(outcome);
  const { wire } = outcome;
  if (wire.status < 500 && wire.status !== 408) return false;
  return api === "management" || wire.header("x-request-id") === null;
}

/**
 * Milliseconds until the answer to an earlier attempt of the same call is asked for again; `null` if none is being answered, or not so
 * much time is left.
 */
export function waitForEarlier(error: Error, leftMs: number): number | null {
  if (!(error instanceof APIError) || error.code !== "idempotency_key_in_use") return null;
  const waitMs = retryAfterMsOf(error.headers) || IN_USE_WAIT_MS;
  return waitMs > leftMs ? null : waitMs;
}
