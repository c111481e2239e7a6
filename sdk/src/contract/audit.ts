import type { EndReason, UsageSource } from "./audit-words.ts";
import type { ErrorCode } from "./error-codes.ts";

/** The record of one request made with a key of the account. */
export interface AuditEntry {
  readonly id: string;
  /** The answer's `x-request-id`. */
  readonly request_id: string;
  /** RFC 3339, UTC. */
  readonly timestamp: string;
  /** Last 4 characters of the key. */
  readonly key_id: string;
  readonly key_name: string;
  /** Method and path: `POST /v1/chat/completions`. */
  readonly endpoint: string;
  readonly model: string | null;
  readonly upstream: string | null;
  /** HTTP status; 499 if the client disconnected before there was an answer. */
  readonly status: number;
  readonly error_code: ErrorCode | null;
  readonly end_reason: EndReason;
  readonly usage_source: UsageSource;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly token_count: number | null;
  readonly cost_nano_usd: number;
  readonly latency_ms: number;
  readonly time_to_first_token_ms: number | null;
  readonly source_ip: string | null;
  /** The error code with which IP rules in report mode would have refused the request. */
  readonly would_refuse: ErrorCode | null;
}

/** An entry of an export, with its position in the account's chain of batches. */
export interface ExportedAuditEntry extends AuditEntry {
  readonly chain: {
    /** The number of the batch, from 1, in the order of recording. */
    readonly batch: number;
    /** The number of entries in the batch. */
    readonly entries: number;
    /** SHA-256 of the previous digest and of the batch's entries, in hexadecimal. */
    readonly digest: string;
  };
  /** Pass it as `cursor` to resume the export after this line. */
  readonly cursor: string;
}

/** Filters. Omit a field to match every value. */
export interface AuditFilter {
  /** RFC 3339. Included. */
  readonly from?: string | undefined;
  /** RFC 3339. Not included. */
  readonly to?: string | undefined;
  /** A key's id, or its key ID. */
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  /** A status (`404`) or a class (`4xx`). */
  readonly status?: string | undefined;
  readonly error_code?: string | undefined;
  /** An address or a CIDR block. */
  readonly source?: string | undefined;
}

/** What `audit.export` takes. */
export interface AuditExportParams extends AuditFilter {
  /** Default `ndjson`. */
  readonly format?: "ndjson" | "csv" | undefined;
  /** The cursor of the last line of an earlier export, to resume after it. */
  readonly cursor?: string | undefined;
}

/** What `audit.list` takes. */
export interface AuditListParams extends AuditFilter {
  /** Entries per page, 1 to 1000. Default 100. */
  readonly limit?: number | undefined;
  /** `next_cursor` of the previous page. */
  readonly cursor?: string | undefined;
}

/** A page as the service sends it. */
export interface AuditListResponse {
  readonly object: "list";
  readonly data: readonly AuditEntry[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}
