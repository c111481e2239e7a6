/**
 * The fields of an audit entry: the single definition behind journal lines, the database's statements, pages, CSV and NDJSON
 * exports, the OpenAPI document and the types of server and SDK.
 *
 * A new field goes at the end, with a migration that adds its column. It is nullable, as entries that were recorded before do not
 * have it, and no digest covers it (see `COVERED_FIELDS`).
 *
 * - `kind`: the values. `integer` has 32 bits, `count` may be larger; `money` is in nano-USD; `address` is an IP address.
 * - `nullable`: the value may be missing.
 * - `column`: the name of the database column, if it differs.
 * - `isDerived`: the value is not recorded with the entry. It follows from other fields or belongs to the key.
 */
export const AUDIT_FIELDS = {
  /** A UUIDv7. */
  id: { kind: "id" },
  /** The id that the client received in `x-request-id`. */
  request_id: { kind: "id", isDerived: true },
  /** RFC 3339, UTC. */
  timestamp: { kind: "time", column: "at" },
  /** Last 4 characters of the key. */
  key_id: { kind: "text" },
  key_name: { kind: "text", isDerived: true },
  /** Method and path: `POST /v1/chat/completions`. */
  endpoint: { kind: "text" },
  /** The catalog's id of the model, or the requested name when the catalog has no such model. */
  model: { kind: "text", nullable: true },
  upstream: { kind: "text", nullable: true },
  /** HTTP status; 499 when the client disconnected before the answer. */
  status: { kind: "integer" },
  error_code: { kind: "error_code", nullable: true },
  end_reason: { kind: "end_reason" },
  usage_source: { kind: "usage_source" },
  prompt_tokens: { kind: "count", nullable: true },
  completion_tokens: { kind: "count", nullable: true },
  cached_tokens: { kind: "count", nullable: true },
  /** Prompt and completion tokens together. */
  token_count: { kind: "count", nullable: true, isDerived: true },
  cost_nano_usd: { kind: "money" },
  latency_ms: { kind: "integer" },
  time_to_first_token_ms: { kind: "integer", nullable: true },
  /** `null` when a trusted proxy sent an address that can't be parsed. */
  source_ip: { kind: "address", nullable: true },
  /** The error code that a rule in report mode would have refused the request with. */
  would_refuse: { kind: "error_code", nullable: true },
} as const;
