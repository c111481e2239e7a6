import type { ChainPoint } from "../contract/management.ts";
import { notNegative, objectOf } from "../core/checks.ts";
import { ExportCheck } from "./export-check.ts";
import { checkPoints, eachLine } from "./verification-input.ts";

/** A problem of an export. */
export interface ExportProblem {
  /**
   * - `changed`: the entries of a batch are not those that were recorded.
   * - `entries_missing`: entries of a batch are missing.
   * - `batches_missing`: batches before or between the others are missing.
   * - `left_out`: an entry of the period is among those that the export left out. It was moved there, or it was recorded late while
   *   an interrupted export continued: export again.
   * - `out_of_period`: an entry is not in the period of the export.
   * - `out_of_filter`: an entry does not match the filter of the export.
   * - `proof_missing`: the proof does not show that what was left out is not in the period.
   * - `truncated`: the end of the export is missing.
   * - `out_of_order`: a line is repeated or precedes an older one.
   * - `unreadable`: a line is neither an entry with its position in the chain nor part of a proof, or has a name twice.
   * - `digest_differs`: the chain differs from an expected point.
   * - `expected_not_included`: an expected point is before or after the batches of the export.
   */
  readonly problem:
    | "changed"
    | "entries_missing"
    | "batches_missing"
    | "left_out"
    | "out_of_period"
    | "out_of_filter"
    | "proof_missing"
    | "truncated"
    | "out_of_order"
    | "unreadable"
    | "digest_differs"
    | "expected_not_included";
  /** The number of the batch, from 1; `null` if the problem has no particular batch. */
  readonly batch: number | null;
  /** The number of the line, from 1; `null` if the problem has no particular line. */
  readonly line: number | null;
}

/**
 * What a verified export contains all of:
 * - `log`: every entry that was recorded up to the `head`.
 * - `range`: every entry of the period in the batches from `first` to `head`.
 * - `selection`: as many entries of these batches as were not left out, each of which matches the filter. That those left out don't match
 *   is not proved. Entries do not have the id of their key: with a filter by it, all have the same key ID.
 */
export type ExportScope = "log" | "range" | "selection";

/** The outcome of {@link verifyAuditExport}. */
export interface ExportVerification {
  /** Whether the export has no problems. One without entries has none, and proves nothing: `complete` is then `null`. */
  readonly ok: boolean;
  /** What the export contains all of; `null` if it has problems, or no entries. */
  readonly complete: ExportScope | null;
  /** The period of the export. */
  readonly period: {
    /** Its beginning in RFC 3339, which is included; `null` if it was not limited. */
    readonly from: string | null;
    /** Its end in RFC 3339, which is not included; `null` if it was not limited. */
    readonly to: string | null;
  };
  /** The filters of the export, by the names of their parameters. */
  readonly filter: Readonly<Record<string, string>>;
  /** The number of entries in the export. */
  readonly entries: number;
  /** The number of entries in the same batches that the export left out. */
  readonly leftOut: number;
  /** The number of batches in the export. */
  readonly batches: number;
  /** The number of the first batch; `null`: there are no entries. */
  readonly first: number | null;
  /** The last batch. Keep it: a later export that includes this batch must contain it. */
  readonly head: ChainPoint | null;
  /** The first 100 problems. */
  readonly problems: readonly ExportProblem[];
}

/** Facts about an export that are not in it. */
export interface VerifyExportOptions {
  /**
   * Points that were kept earlier, which the export must contain. Without one, a recomputed chain cannot be detected. The first point
   * of an export is the batch before its first one: an export without a proof is compared with it.
   */
  readonly expected?: ChainPoint | readonly ChainPoint[] | undefined;
  /**
   * The number of batches deleted at the end of their retention, as `audit.verify` returns it then or later. Default 0: an export of the
   * whole log must begin with the first batch. Otherwise the entries of the oldest remaining batch are verified only with a proof, or if
   * `expected` has the batch before it.
   */
  readonly removedBatches?: number | undefined;
}

/**
 * Verifies an export of the audit log (NDJSON) without the service. Finds entries that were changed, removed, added or reordered since
 * they were recorded. An export that is limited by a period or a filter needs its `proof`. Names of keys are not covered. Memory use
 * is bounded by the incomplete batches.
 *
 * @param lines the export's lines, without line breaks. Empty lines are skipped.
 * @throws {UnverifiableExportError} the lines are CSV, no export, an export of a part of the log without its proof, or one with a filter
 *   of a later version.
 * @throws {OstiaryError} an option is not valid.
 */
export async function verifyAuditExport(
  lines: AsyncIterable<string> | Iterable<string>,
  options: VerifyExportOptions = {},
): Promise<ExportVerification> {
  const { expected, removedBatches } = objectOf("options", options);
  const points = [expected ?? []].flat();
  checkPoints(points, "batch");
  const check = new ExportCheck(points, notNegative("removedBatches", removedBatches ?? 0));
  return check.end(await eachLine(lines, (text, line) => check.add(text, line)));
}
