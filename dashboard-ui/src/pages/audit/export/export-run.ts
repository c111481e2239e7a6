import { AuditExport } from "../../../../../sdk/src/session.ts";
import { sessionTransport } from "../../../api/session-transport.ts";
import { BYTE_ORDER_MARK } from "../../../components/csv.ts";
import type { AuditFilters } from "../filters.ts";
import type { ExportTarget } from "./export-target.ts";

export type ExportFormat = "csv" | "ndjson";

/** Whether an export needs its proof to be verified: NDJSON of a part of the log. */
export function needsProof(format: ExportFormat, filters: AuditFilters): boolean {
  return format === "ndjson" && Object.values(filters).some((value) => value !== undefined);
}

/** The progress of an export. */
export interface ExportProgress {
  readonly entries: number;
  readonly bytes: number;
  /** The times of the first and the last request. */
  readonly first: Date | null;
  readonly last: Date | null;
  /** Whether the export is interrupted and resumes in a moment. */
  readonly isCut: boolean;
}

/** The maximum number of consecutive interruptions without a line. */
const MAX_CUTS = 6;

/** One export. After an interruption it resumes after the last complete line, without gap or repetition. */
export class ExportRun {
  readonly #format: ExportFormat;
  readonly #filters: AuditFilters;
  readonly #target: ExportTarget;
  readonly #onProgress: (progress: ExportProgress) => void;
  readonly #given = new AbortController();
  #progress: ExportProgress = { entries: 0, bytes: 0, first: null, last: null, isCut: false };
  #cursor: string | null = null;

  constructor(
    format: ExportFormat,
    filters: AuditFilters,
    target: ExportTarget,
    onProgress: (progress: ExportProgress) => void,
  ) {
    this.#format = format;
    this.#filters = filters;
    this.#target = target;
    this.#onProgress = onProgress;
  }

  get fileName(): string {
    return this.#target.fileName;
  }

  get isGivenUp(): boolean {
    return this.#given.signal.aborted;
  }

  /**
   * Writes all entries; complete lines are in the file when it resolves. After a failure, another call resumes it.
   *
   * @throws {UnwrittenError} the file cannot be written. Errors of the SDK's exports are passed on.
   */
  async run(): Promise<void> {
    const { entries, bytes } = this.#progress;
    let cuts = 0;
    const lines = new AuditExport(
      sessionTransport,
      {
        format: this.#format,
        ...this.#filters,
        proof: needsProof(this.#format, this.#filters),
        cursor: this.#cursor ?? undefined,
      },
      {
        signal: this.#given.signal,
        maxResumptions: MAX_CUTS,
        onProgress: ({ resumptions }) => {
          this.#note({ isCut: resumptions > cuts });
          cuts = resumptions;
        },
      },
    );
    // An export that restarts at the beginning sends its header again.
    let isHeaderWritten = this.#cursor === null && bytes > 0;
    for await (const text of lines.text()) {
      const mark = this.#format === "csv" && this.#progress.bytes === 0 ? BYTE_ORDER_MARK : "";
      const whole = isHeaderWritten ? text.slice(text.indexOf("\n") + 1) : text;
      isHeaderWritten = false;
      await this.#write(mark + whole);
      const { cursor, timestamp: last } = lines.progress;
      this.#cursor = cursor;
      const first = this.#progress.first ?? last;
      this.#note({ entries: entries + lines.progress.lines, first, last, isCut: false });
    }
    await this.#target.finish();
  }

  /** Ends the export and removes the file. */
  async giveUp(): Promise<void> {
    this.#given.abort();
    await this.#target.discard();
  }

  async #write(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    try {
      await this.#target.write(bytes);
    } catch (error) {
      throw new UnwrittenError(error);
    }
    this.#note({ bytes: this.#progress.bytes + bytes.length });
  }

  #note(change: Partial<ExportProgress>): void {
    this.#progress = { ...this.#progress, ...change };
    this.#onProgress(this.#progress);
  }
}

/** The file could not be written. Retrying is useless. */
export class UnwrittenError extends Error {
  constructor(cause: unknown) {
    super("The file can't be written.", { cause });
  }
}
