import { ERROR_CODES as TABLE } from "../../../../sdk/src/contract/error-codes.ts";

/** Codes that only sign-in and requests without a known key produce. An account's log has neither. */
const ELSEWHERE = [
  "conflict",
  "invalid_api_key",
  "invalid_management_token",
  "key_limit_reached",
  "not_signed_in",
  "wrong_credentials",
];

/** The codes that an entry may have. */
export const ERROR_CODES: readonly string[] = Object.keys(TABLE)
  .filter((code) => !ELSEWHERE.includes(code))
  .sort();

/** The status of a request whose client disconnected before the answer. */
const CLIENT_GONE = 499;

/** The choices of the status filter, classes first. */
export const STATUSES: readonly { readonly value: string; readonly label: string }[] = [
  { value: "error", label: "Errors" },
  { value: "2xx", label: "2xx: answered" },
  { value: "4xx", label: "4xx: refused" },
  { value: "5xx", label: "5xx: failed" },
  ...[...new Set([200, CLIENT_GONE, ...Object.values(TABLE).map(({ status }) => status)])]
    .sort((one, other) => one - other)
    .map((status) => ({ value: String(status), label: String(status) })),
];
