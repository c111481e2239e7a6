import type { Failure } from "./failure.ts";

/** Google's names of statuses (https://cloud.google.com/apis/design/errors). */
const STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  408: "DEADLINE_EXCEEDED",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** The response body of a failure in the format of Google's APIs. */
export function googleErrorOf({ status, message }: Failure): {
  readonly error: { readonly code: number; readonly message: string; readonly status: string };
} {
  const name = STATUSES[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "UNKNOWN");
  return { error: { code: status, message, status: name } };
}
