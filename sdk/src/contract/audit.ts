import type { FieldValue } from "./audit-entry.ts";
import type { EndReason, UsageSource } from "./audit-enums.ts";
import type { AUDIT_FIELDS } from "./audit-fields.ts";
import type { ErrorCode } from "./error-codes.ts";

/** The types of values in JSON. */
interface JsonKinds {
  readonly id: string;
  readonly text: string;
  readonly time: string;
  readonly integer: number;
  readonly count: number;
  readonly money: number;
  readonly address: string;
  readonly error_code: ErrorCode;
  readonly end_reason: EndReason;
  readonly usage_source: UsageSource;
}

/** The record of one request made with a key of the account. @interface */
export type AuditEntry = {
  readonly [Name in keyof typeof AUDIT_FIELDS]: FieldValue<Name, JsonKinds>;
};

/** An entry of an export, with its position in the account's chain of batches. */
export interface ExportedAuditEntry extends AuditEntry {
  /** Where the entry is in the chain, for `verifyAuditExport`. */
  readonly chain: {
    /** The number of the batch, from 1, in the order of recording. */
    readonly batch: number;
    /** The number of entries in the batch. */
    readonly entries: number;
    /** SHA-256 of the previous digest and of the batch's entries, in hexadecimal. */
    readonly digest: string;
    /** Whether the export may lack entries of the batch, because it is limited by a period or a filter and has no proof. */
    readonly part?: true;
  };
  /** Pass it as `cursor` to resume the export after this line. */
  readonly cursor: string;
}

/**
 * A line of an export with a proof that is not an entry. It completes what `verifyAuditExport` needs to verify an export of a part of
 * the log.
 */
export interface ExportProofLine {
  /** The line's part of the proof. */
  readonly proof: ExportHeader | ExportedBatch | ExportEnd;
  /** Pass it as `cursor` to resume the export after this line. */
  readonly cursor: string;
}

/** The first line of an export with a proof: what was exported. */
export interface ExportHeader {
  /** The period and the filters of the export. */
  readonly export: {
    /** The beginning of the period, included: an RFC 3339 time; `null`: from the beginning of the log. */
    readonly from: string | null;
    /** The end of the period, not included: an RFC 3339 time; `null`: to the end of the log. */
    readonly to: string | null;
    /** The other filters, by the names of their parameters. */
    readonly filter: Readonly<Record<string, string>>;
  };
}

/** What an export leaves out of a batch. A batch of very many entries has several such lines. */
export interface ExportedBatch {
  /** The number of the batch, from 1. */
  readonly batch: number;
  /** The number of entries in the batch. */
  readonly entries: number;
  /** SHA-256 of the previous digest and of the batch's entries, in hexadecimal. */
  readonly digest: string;
  /** The entries that were left out: whole if only the period limits the export, otherwise their digests. */
  readonly left_out?: readonly LeftOutEntry[];
  /** If all entries were left out because of a filter: SHA-256 of their digests. */
  readonly content?: string;
}

/** An entry that was left out. It has an `entry` or a `digest`. */
export interface LeftOutEntry {
  /** Its place in the batch in order of ids, from 0. */
  readonly place: number;
  /** The fields that its digest covers. */
  readonly entry?: CoveredEntry;
  /** The SHA-256 digest of the entry, in hexadecimal. */
  readonly digest?: string;
}

/** The fields of an entry that its digest covers. */
export type CoveredEntry = Omit<AuditEntry, "request_id" | "key_name" | "token_count">;

/** The last line of an export with a proof: which batches it proves. `null` if there is no entry. */
export interface ExportEnd {
  /** The batches that the export proves. */
  readonly end: {
    /** The number of the first batch. */
    readonly first: number | null;
    /** The number of the last batch. */
    readonly last: number | null;
    /** The digest of the batch before the first, in hexadecimal. */
    readonly previous: string | null;
  };
}

/** Filters. Omit a field to match every value. */
export interface AuditFilter {
  /** The beginning of the period, included: an RFC 3339 time, or a date (`2026-01-31`), which means the beginning of that day in UTC. */
  readonly from?: Date | string | undefined;
  /** The end of the period: an RFC 3339 time, which is not included, or a date, of which the whole day in UTC is included. */
  readonly to?: Date | string | undefined;
  /** The id of a key, or its key ID: the last 4 characters of the key string. */
  readonly key?: string | undefined;
  /** A model, or a pattern in which `*` stands for any characters. */
  readonly model?: string | undefined;
  /** The upstream that answered or failed, or a pattern. */
  readonly upstream?: string | undefined;
  /** A status such as `404`, a class such as `4xx`, or `error` for every request that failed. */
  readonly status?: string | undefined;
  /** An error code such as `rate_limit_exceeded`, or a pattern. */
  readonly error_code?: string | undefined;
  /** An IP address or a CIDR block. */
  readonly source?: string | undefined;
}

/** Parameters of `audit.export`. */
export interface AuditExportParams extends AuditFilter {
  /** The format of the lines: JSON, or CSV with a header. Default `ndjson`. */
  readonly format?: "ndjson" | "csv" | undefined;
  /**
   * Whether to add lines with a `proof`, so that `verifyAuditExport` can verify an export of a part of the log by itself. Only for
   * `ndjson`. Default `false`.
   */
  readonly proof?: boolean | undefined;
  /** The cursor of the last line of an earlier export, to resume after it. The other parameters must be those of that export. */
  readonly cursor?: string | undefined;
}

/** Parameters of `audit.list`. */
export interface AuditListParams extends AuditFilter {
  /** The maximum number of entries of a page: 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the previous page, which had the same filters. Omit it for the first page. */
  readonly cursor?: string | undefined;
}

/** A page as the service sends it. */
export interface AuditListResponse {
  /** The kind of the object. */
  readonly object: "list";
  /** The entries of the page, newest first. */
  readonly data: readonly AuditEntry[];
  /** Whether there is another page. */
  readonly has_more: boolean;
  /** The `cursor` of the next page; `null` on the last page. */
  readonly next_cursor: string | null;
}
