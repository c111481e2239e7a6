import { ERROR_CODES as TABLE } from "../../../../sdk/src/contract/error-codes.ts";

/** What only people who sign in are told, and requests with no known key: neither stands in an account's log. */
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

/** Of a request whose client had gone before there was an answer. */
const CLIENT_GONE = 499;

/** What one may want to see by status, classes first. */
export const STATUSES: readonly { readonly value: string; readonly label: string }[] = [
  { value: "2xx", label: "2xx: answered" },
  { value: "4xx", label: "4xx: refused" },
  { value: "5xx", label: "5xx: failed" },
  ...[...new Set([200, CLIENT_GONE, ...Object.values(TABLE).map(({ status }) => status)])]
    .sort((one, other) => one - other)
    .map((status) => ({ value: String(status), label: String(status) })),
];
