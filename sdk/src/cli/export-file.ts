import { open } from "node:fs/promises";
import process from "node:process";
import { cursorOf, type ExportProgress } from "../audit/export.ts";
import { FILTER_NAMES } from "../audit/export-filter.ts";
import { readExportLine } from "../audit/export-lines.ts";
import { exportedLine } from "../audit/verification-input.ts";
import type { Ostiary } from "../client.ts";
import type { AuditExportParams, ExportHeader } from "../contract/audit.ts";
import { isWithin, networkOf } from "../contract/network.ts";
import { DAY_MS } from "../contract/time-units.ts";
import { APIError, BadRequestError, NotFoundError, OstiaryError } from "../core/errors.ts";
import { type KeptBytes, writeAll } from "./output.ts";

/** The size of the end of a file in which the last complete line is looked for. A line of a proof has 500 entries: some hundred thousand bytes. */
const TAIL_BYTES = 4 * 1024 * 1024;
const CSV_HEADER = /^\uFEFF?id,.*,cursor$/;
const REDRAW_MS = 200;
const BAR = 30;

export interface ExportJob {
  readonly client: Ostiary;
  readonly params: AuditExportParams;
  /** `null` for standard output. */
  readonly file: string | null;
  /** Whether to resume after the file's last complete line. */
  readonly isResumed: boolean;
  readonly signal: AbortSignal;
}

/** Writes an export to a file or to standard output, and shows its progress on a terminal. */
export async function exportTo({ client, params, file, isResumed, signal }: ExportJob): Promise<void> {
  const kept = file !== null && isResumed ? await keptPart(file, params) : null;
  const cursor = kept?.cursor;
  const bar = new ProgressBar(params, file);
  const lines = client.audit.export(
    { ...params, cursor },
    { signal, onProgress: (progress) => bar.draw(progress) },
  );
  try {
    await writeAll(lines.text(), file, kept);
  } catch (error) {
    throw cursor === undefined ? error : resumptionError(error);
  }
  bar.end(lines.progress);
}

/** The error of a file that the service refuses to continue. Its next entries were deleted, or it has another selection or is of another account. */
function resumptionError(error: unknown): unknown {
  if (!(error instanceof APIError) || error.param !== "cursor") return error;
  if (error instanceof NotFoundError) {
    return new OstiaryError(
      "The file cannot be resumed: entries after its last line were deleted at the end of their retention. Keep the file, which may have entries that are deleted too, and export the remaining ones to another file.",
      { cause: error },
    );
  }
  if (!(error instanceof BadRequestError)) return error;
  return new OstiaryError(
    "The file cannot be resumed: its export has another period, filter, proof or set of columns, or is of another account. Pass the options that it began with, or export without --resume, which replaces it.",
    { cause: error },
  );
}

/** The beginning of a file that a resumed export continues. */
interface KeptPart extends KeptBytes {
  /** The cursor of its last line. */
  readonly cursor: string;
}

/**
 * Returns the part of a file up to its last complete line; `null` to keep nothing, also of a file with no more than the header of CSV,
 * because the export begins with it again.
 *
 * @throws {OstiaryError} the file does not end like an export of this format, or begins like one with another period or filter.
 */
async function keptPart(path: string, params: AuditExportParams): Promise<KeptPart | null> {
  const format = params.format ?? "ndjson";
  // Creates a file that does not exist.
  await using file = await open(path, "a+");
  const { size } = await file.stat();
  if (size === 0) return null;
  const length = Math.min(size, TAIL_BYTES);
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
  const end = buffer.lastIndexOf("\n") + 1;
  const lines = buffer
    .subarray(0, Math.max(0, end - 1))
    .toString("utf8")
    .split("\n");
  const last = lines.at(-1) ?? "";
  const cursor = cursorOf(last, format);
  const isHeader = format === "csv" && size === length && lines.length === 1 && CSV_HEADER.test(last);
  // The service's cursors contain a tilde. The last field of another CSV file seldom does.
  if (cursor?.includes("~") !== true && !isHeader) {
    throw new OstiaryError(
      `The file cannot be resumed: its last complete line is not one of an export as ${format}. Pass the format of the file, or export without --resume, which replaces it.`,
    );
  }
  if (isHeader || cursor === null) return null;
  const { buffer: head } = await file.read(Buffer.alloc(length), 0, length, 0);
  const first = readExportLine(exportedLine(head.toString("utf8").split("\n", 1)[0] ?? "", 1));
  // A mixture of two exports would be verified as one of the first filter. Only an export with a proof says what it has.
  if (first?.kind === "header" && !isExportOf(params, first.header)) {
    throw new OstiaryError(
      "The file cannot be resumed: its export has another period or filter. Pass those that it began with, or export without --resume, which replaces it.",
    );
  }
  return { bytes: size - length + end, ofBytes: size, cursor };
}

/** Whether an export with this header has these parameters. */
function isExportOf(params: AuditExportParams, { from, to, filter }: ExportHeader["export"]): boolean {
  const isSame = FILTER_NAMES.every((name) => {
    const given = params[name];
    const written = filter[name];
    if (given === undefined || written === undefined) return given === written;
    // The service writes a network, and the id of a key, in a form of its own.
    if (name === "source") return isSameNetwork(String(given), written);
    return UUID.test(written) ? String(given).toLowerCase() === written : String(given) === written;
  });
  return isSame && isBound(params.from, from, false) && isBound(params.to, to, true);
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Whether two texts are addresses or CIDR blocks of the same network. */
function isSameNetwork(one: string, other: string): boolean {
  const [first, second] = [networkOf(one), networkOf(other)];
  return first !== null && second !== null && isWithin(first, second) && isWithin(second, first);
}

/** Whether the beginning or the end of a period is that of a header. An end that is a date includes the whole day. */
function isBound(given: AuditExportParams["from"], written: string | null, isEnd: boolean): boolean {
  if (given === undefined || written === null) return given === undefined && written === null;
  const isWholeDay = isEnd && typeof given === "string" && DAY.test(given);
  return new Date(given).getTime() + (isWholeDay ? DAY_MS : 0) === new Date(written).getTime();
}

/** The progress by time, because the number of entries is unknown. */
class ProgressBar {
  readonly #isShown: boolean;
  readonly #from: number | null;
  readonly #to: number;
  #first: number | null = null;
  #drawnMs = 0;

  constructor({ from, to }: AuditExportParams, file: string | null) {
    // Among lines on a terminal it would become a part of them.
    this.#isShown = process.stderr.isTTY === true && (file !== null || !process.stdout.isTTY);
    this.#from = from === undefined ? null : new Date(from).getTime();
    this.#to = to === undefined ? Date.now() : Math.min(new Date(to).getTime(), Date.now());
  }

  draw(progress: ExportProgress): void {
    if (!this.#isShown || Date.now() - this.#drawnMs < REDRAW_MS) return;
    this.#drawnMs = Date.now();
    process.stderr.write(`\r\x1b[K${this.#bar(progress.timestamp)} ${summary(progress)}`);
  }

  end(progress: ExportProgress): void {
    if (this.#isShown) process.stderr.write(`\r\x1b[K${summary(progress)}\n`);
  }

  #bar(timestamp: Date | null): string {
    if (timestamp === null) return `[${" ".repeat(BAR)}]`;
    this.#first ??= this.#from ?? timestamp.getTime();
    const span = Math.max(1, this.#to - this.#first);
    const share = Math.min(1, Math.max(0, (timestamp.getTime() - this.#first) / span));
    const full = Math.round(share * BAR);
    return `[${"#".repeat(full)}${" ".repeat(BAR - full)}] ${Math.round(share * 100)} %`;
  }
}

function summary({ lines, resumptions, timestamp }: ExportProgress): string {
  const until = timestamp === null ? "" : ` to ${timestamp.toISOString()}`;
  const cut = resumptions === 0 ? "" : `, resumed ${resumptions} times`;
  return `${lines} entries${until}${cut}`;
}
