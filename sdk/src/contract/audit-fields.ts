/**
 * The fields of an audit entry: the single definition behind journal lines, the database's statements, pages, CSV and NDJSON
 * exports, the OpenAPI document and the types of server and SDK.
 *
 * A new field goes at the end, with a migration that adds its column. It is nullable, as entries that were recorded before do not
 * have it. To be covered by digests it needs a line of `entry_digest` in the migration, and its name in `COVERED_WHERE_SET`.
 *
 * - `kind`: the values. `integer` has 32 bits, `count` may be larger; `money` is in nano-USD; `address` is an IP address.
 * - `nullable`: the value may be missing.
 * - `column`: the name of the database column, if it differs.
 * - `isDerived`: the value is not recorded with the entry. It follows from other fields or belongs to the key.
 */
export const AUDIT_FIELDS = {
  /** The id of the entry, a UUIDv7: entries sort by it in the order of their requests. */
  id: { kind: "id" },
  /** The id of the request, which the client received in `x-request-id`: `req_` and 32 hexadecimal digits. */
  request_id: { kind: "id", isDerived: true },
  /** When the request arrived. In JSON it is an RFC 3339 time in UTC, with milliseconds. */
  timestamp: { kind: "time", column: "at" },
  /** Last 4 characters of the key string. */
  key_id: { kind: "text" },
  /** The present name of the key; empty if the database was restored from a backup that is older than the key. */
  key_name: { kind: "text", isDerived: true },
  /** Method and path of the operation, such as `POST /v1/chat/completions`. */
  endpoint: { kind: "text" },
  /** The catalog's id of the model, or the requested name when the catalog has no such model; `null`: none was named. */
  model: { kind: "text", nullable: true },
  /** The name of the upstream that answered or failed; `null`: the request was sent to none. */
  upstream: { kind: "text", nullable: true },
  /** The HTTP status of the answer; 499 when the client disconnected before the answer. */
  status: { kind: "integer" },
  /** The code of the error that the request ended with, such as `rate_limit_exceeded`; `null`: none. */
  error_code: { kind: "error_code", nullable: true },
  /**
   * How the request ended. `stop`: the answer was sent completely; `refused`: the service or the upstream refused the request;
   * `client_gone`: the client disconnected; `upstream_error`: the upstream failed; `timeout`: it did not answer in time; `shutdown`: the
   * service stopped; `node_lost`: the process died, so that the outcome is unknown.
   */
  end_reason: { kind: "end_reason" },
  /** Where the token counts come from: `upstream` reported them, `estimated` by the service, or `none`. */
  usage_source: { kind: "usage_source" },
  /** The tokens of the prompt; `null`: unknown. */
  prompt_tokens: { kind: "count", nullable: true },
  /** The tokens of the answer; `null`: unknown. */
  completion_tokens: { kind: "count", nullable: true },
  /** The part of the prompt's tokens that the upstream read from its cache; `null`: unknown. */
  cached_tokens: { kind: "count", nullable: true },
  /** Prompt and completion tokens together; `null`: unknown. */
  token_count: { kind: "count", nullable: true, isDerived: true },
  /** The cost in whole nano-USD (1 USD is 1,000,000,000 nano-USD), by the catalog's prices; 0: nothing was charged. */
  cost_nano_usd: { kind: "money" },
  /** Milliseconds from the arrival of the request to the end of the answer. */
  latency_ms: { kind: "integer" },
  /** Milliseconds from the arrival of the request to the first token; `null`: there was none. */
  time_to_first_token_ms: { kind: "integer", nullable: true },
  /** The IPv4 or IPv6 address of the client; `null` when a trusted proxy sent one that can't be parsed. */
  source_ip: { kind: "address", nullable: true },
  /** The error code that IP rules in report mode would have refused the request with; `null`: they would not. */
  would_refuse: { kind: "error_code", nullable: true },
  /**
   * The part of the prompt's tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell; `null`:
   * unknown.
   */
  cache_write_tokens: { kind: "count", nullable: true },
  /** The part of the prompt's tokens that the upstream wrote to its cache for an hour; `null`: unknown. */
  cache_write_1h_tokens: { kind: "count", nullable: true },
  /** The part of the completion's tokens that are of reasoning; `null`: unknown. */
  reasoning_tokens: { kind: "count", nullable: true },
  /** The tokens of recordings in the prompt and of speech in the answer together; `null`: unknown. */
  audio_tokens: { kind: "count", nullable: true },
  /** The tokens of images in the prompt and in the answer together; `null`: unknown. */
  image_tokens: { kind: "count", nullable: true },
} as const;
