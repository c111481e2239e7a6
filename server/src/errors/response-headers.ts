/**
 * The headers of the API's answers: the one definition of those that the service may send and of those that the OpenAPI document describes.
 *
 * - `isInteger`: the value is a whole number.
 * - `value`: the only value.
 * - `isRequired`: every answer that may have the header has it.
 */
export const RESPONSE_HEADERS = {
  "x-request-id": {
    isRequired: true,
    description: "The id of the request, by which the audit log and the service's operator find it",
  },
  "request-id": { description: "The same id, by the name that Anthropic's clients read" },
  "x-ratelimit-limit-requests": {
    isInteger: true,
    description: "The account's limit on requests per minute; absent if it has none",
  },
  "x-ratelimit-remaining-requests": {
    isInteger: true,
    description: "How many more requests the account may send now",
  },
  "x-ratelimit-reset-requests": {
    description:
      "The time until the whole limit on requests is free, if no further request arrives: `20ms`, `1s` or `6m0s`",
  },
  "x-ratelimit-limit-tokens": {
    isInteger: true,
    description: "The account's limit on tokens per minute; absent if it has none",
  },
  "x-ratelimit-remaining-tokens": {
    isInteger: true,
    description: "How many more tokens the account may use now",
  },
  "x-ratelimit-reset-tokens": {
    description:
      "The time until the whole limit on tokens is free, if no further request arrives: `20ms`, `1s` or `6m0s`",
  },
  "retry-after": {
    isInteger: true,
    description: "Seconds to wait before sending the request again; absent if another attempt would not help",
  },
  "retry-after-ms": { isInteger: true, description: "The same time in milliseconds" },
  "x-should-retry": {
    value: "false",
    description: "Present if clients must not send the request again by themselves",
  },
  "www-authenticate": {
    value: "Bearer",
    isRequired: true,
    description: "The scheme in which to send the key or token",
  },
  "idempotency-replayed": {
    value: "true",
    description: "Present if this is the answer to an earlier request with the same idempotency key",
  },
  "ostiary-ignored-fields": {
    description:
      "The fields of the request that were left out because the model's provider has no equivalent, separated by commas",
  },
  "cache-control": { description: "`no-store`; for streams of events `no-cache`" },
  "content-disposition": { description: "The name of the file in which a browser saves the answer" },
} as const satisfies Readonly<Record<string, ResponseHeaderDefinition>>;

export interface ResponseHeaderDefinition {
  readonly description: string;
  readonly isInteger?: true;
  readonly value?: string;
  readonly isRequired?: true;
}

export type DescribedHeader = keyof typeof RESPONSE_HEADERS;

/** Headers of HTTP itself. Clients, browsers and proxies understand them without a description. */
type HttpHeader =
  | "content-type"
  | "content-encoding"
  | "vary"
  | "allow"
  | "x-accel-buffering"
  | `access-control-${"allow-origin" | "allow-methods" | "allow-headers" | "expose-headers" | "max-age"}`;

/** Headers of an answer by their names in lower case. A header that the OpenAPI document does not know of does not compile. */
export type ResponseHeaders = Readonly<Partial<Record<DescribedHeader | HttpHeader, string>>>;
