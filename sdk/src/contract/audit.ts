import type { FieldValue } from "./audit-entry.ts";
import type { AUDIT_FIELDS } from "./audit-fields.ts";
import type { EndReason, UsageSource } from "./audit-words.ts";
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
  /** Included. A date (`2026-01-31`, from its beginning in UTC), or a time in RFC 3339. */
  readonly from?: Date | string | undefined;
  /** A date, which is included as a whole, in UTC; or a time in RFC 3339, which is not included. */
  readonly to?: Date | string | undefined;
  /** A key's id, or its key ID. */
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  /** A status (`404`) or a class (`4xx`). */
  readonly status?: string | undefined;
  readonly error_code?: string | undefined;
  /** An address or a CIDR block. */
  readonly source?: string | undefined;
}

/** Parameters of `audit.export`. */
export interface AuditExportParams extends AuditFilter {
  /** Default `ndjson`. */
  readonly format?: "ndjson" | "csv" | undefined;
  /** The cursor of the last line of an earlier export, to resume after it. */
  readonly cursor?: string | undefined;
}

/** Parameters of `audit.list`. */
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
