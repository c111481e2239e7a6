import { OVERLOADED_STATUS } from "../errors/messages-error.ts";
import {
  type DescribedHeader,
  RESPONSE_HEADERS,
  type ResponseHeaderDefinition,
} from "../errors/response-headers.ts";
import type { Answers, Schema } from "./openapi-parts.ts";
import type { Operation } from "./operation.ts";

const RATE_HEADERS: readonly DescribedHeader[] = [
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-tokens",
];
/** The statuses of failures that another attempt may avoid. */
const RETRIED: readonly number[] = [409, 429, 503, OVERLOADED_STATUS];
/** The statuses of failures that clients would repeat, although some of them must not be repeated. */
const NOT_RETRIED: readonly number[] = [402, 409, 503, OVERLOADED_STATUS];

/** The definitions of all headers, for the `components` of the document. */
export function headerComponents(): Schema {
  const definitions: readonly [string, ResponseHeaderDefinition][] = Object.entries(RESPONSE_HEADERS);
  return Object.fromEntries(
    definitions.map(([name, { description, isInteger, value, isRequired }]) => {
      const type = isInteger === true ? { type: "integer", minimum: 0 } : { type: "string" };
      const schema = value === undefined ? type : { ...type, const: value };
      return [name, { description, ...(isRequired === true ? { required: true } : {}), schema }];
    }),
  );
}

/** Adds to an operation's answers the headers that each of them may have. */
export function withHeaders(operation: Operation, responses: Answers): Schema {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const names = headersOf(operation, Number(status));
      const headers = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
      return [status, { ...response, headers: Object.fromEntries(headers) }];
    }),
  );
}

function headersOf({ kind, method, path }: Operation, status: number): readonly DescribedHeader[] {
  const isModel = kind === "model";
  const isAnswered = status === 200;
  const isOfMessages = path.startsWith("/v1/messages");
  const groups: readonly (readonly [boolean, ...DescribedHeader[]])[] = [
    [true, "x-request-id"],
    [isOfMessages || path.startsWith("/v1/models"), "request-id"],
    [isModel && status !== 401 && status !== 403, ...RATE_HEADERS],
    [RETRIED.includes(status), "retry-after", "retry-after-ms"],
    [isModel && NOT_RETRIED.includes(status), "x-should-retry"],
    [status === 401, "www-authenticate"],
    [isModel && isAnswered, "idempotency-replayed"],
    [isModel && isAnswered && path !== "/v1/messages/count_tokens", "ostiary-ignored-fields"],
    [method === "GET" || (isAnswered && kind !== "query"), "cache-control"],
    [isAnswered && path.endsWith("/export"), "content-disposition"],
  ];
  return groups.flatMap(([applies, ...names]) => (applies ? names : []));
}
