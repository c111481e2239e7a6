import { UpstreamRefused } from "../upstream/dialect.ts";
import { TransportError } from "../upstream/transport.ts";

/** What a failed request tells about its upstream and about what to do next. */
export interface Verdict {
  /** `success`: the upstream works and the request was at fault. `unknown`: the failure tells nothing about the upstream. */
  readonly outcome: "success" | "failure" | "unknown";
  /** Whether another upstream or another attempt may succeed. */
  readonly isRetryable: boolean;
  /** Whether the upstream refuses the service's credential, which an operator must correct. */
  readonly refusesCredential: boolean;
}

const FAILED: Verdict = { outcome: "failure", isRetryable: true, refusesCredential: false };

/** Classifies a failure: one row for each kind. */
export function verdictOf(reason: unknown): Verdict {
  if (reason instanceof TransportError && reason.fault !== "aborted") return FAILED;
  if (!(reason instanceof UpstreamRefused)) {
    return { outcome: "unknown", isRetryable: false, refusesCredential: false };
  }
  switch (reason.status) {
    // 424: a server that the client has named, as a tool, has failed.
    case 400:
    case 413:
    case 422:
    case 424:
      return { outcome: "success", isRetryable: false, refusesCredential: false };
    case 401:
    case 403:
      return { outcome: "failure", isRetryable: true, refusesCredential: true };
    // 404: the upstream lacks the model. 429: it works, and limits its rate. 431: it accepts fewer headers of clients than are passed on to it.
    case 404:
    case 429:
    case 431:
      return { outcome: "unknown", isRetryable: true, refusesCredential: false };
    default:
      return FAILED;
  }
}
