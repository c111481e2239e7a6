import { UpstreamRefused } from "../upstream/dialect.ts";
import { TransportError } from "../upstream/transport.ts";

/** What a failed request says, of its upstream and of what to do next. */
export interface Verdict {
  /** `success`: the upstream is well, the fault is the request's. `unknown`: it says nothing. */
  readonly outcome: "success" | "failure" | "unknown";
  /** Whether another upstream, or another attempt, may do better. */
  readonly retryable: boolean;
  /** Whether it is our credential that was refused: an operator has to see to it. */
  readonly isCredential: boolean;
}

/** Reads as a table: one row for each kind of failure. */
export function verdictOf(reason: unknown): Verdict {
  if (reason instanceof TransportError) {
    return reason.fault === "aborted"
      ? { outcome: "unknown", retryable: false, isCredential: false }
      : { outcome: "failure", retryable: true, isCredential: false };
  }
  if (!(reason instanceof UpstreamRefused)) {
    return { outcome: "unknown", retryable: false, isCredential: false };
  }
  switch (reason.status) {
    case 400:
    case 413:
    case 422:
      return { outcome: "success", retryable: false, isCredential: false };
    case 401:
    case 403:
      return { outcome: "failure", retryable: true, isCredential: true };
    // A model that is not there, and a server that is well and has enough to do.
    case 404:
    case 429:
      return { outcome: "unknown", retryable: true, isCredential: false };
    default:
      return { outcome: "failure", retryable: true, isCredential: false };
  }
}
