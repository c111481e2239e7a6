import { type FileHandle, open } from "node:fs/promises";
import process from "node:process";
import { cursorOf, type ExportProgress } from "../audit/export.ts";
import type { Ostiary } from "../client.ts";
import type { AuditExportParams } from "../contract/audit.ts";
import { OstiaryError } from "../core/errors.ts";
import { write } from "./output.ts";

const TAIL_BYTES = 64 * 1024;
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
  const target = file === null ? null : await open(file, isResumed ? "a+" : "w");
  try {
    const cursor =
      target !== null && isResumed ? await lastCursor(target, params.format ?? "ndjson") : undefined;
    const bar = new ProgressBar(params);
    const lines = client.audit.export(
      { ...params, cursor },
      { signal, onProgress: (progress) => bar.draw(progress) },
    );
    for await (const text of lines.text()) await write(target, text);
    bar.end(lines.progress);
  } finally {
    await target?.close();
  }
}

/**
 * Returns the cursor of a file's last complete line and truncates the file after it. A file with no more than the header of CSV is
 * emptied, because the export begins with it again.
 *
 * @throws {OstiaryError} the file does not end like an export of this format. It is unchanged.
 */
async function lastCursor(file: FileHandle, format: "ndjson" | "csv"): Promise<string | undefined> {
  const { size } = await file.stat();
  if (size === 0) return undefined;
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
  await file.truncate(isHeader ? 0 : size - length + end);
  return cursor ?? undefined;
}

/** The progress by time, because the number of entries is unknown. */
class ProgressBar {
  readonly #isShown = process.stderr.isTTY === true;
  readonly #from: number | null;
  readonly #to: number;
  #first: number | null = null;
  #drawnMs = 0;

  constructor({ from, to }: AuditExportParams) {
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
