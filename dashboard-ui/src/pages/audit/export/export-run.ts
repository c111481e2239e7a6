import { watchedFetch } from "../../../api/connection.ts";
import { envelopeIn, type ServiceError } from "../../../api/errors.ts";
import type { AuditFilters } from "../filters.ts";
import type { ExportTarget } from "./export-target.ts";

export type ExportFormat = "csv" | "ndjson";

/** How far an export has come. */
export interface ExportProgress {
  readonly entries: number;
  readonly bytes: number;
  /** When the first and the last request were made. */
  readonly first: Date | null;
  readonly last: Date | null;
  /** It was cut off, and goes on in a moment. */
  readonly isCut: boolean;
}

/** The service does not answer it. */
export class ExportRefused extends Error {
  readonly told: ServiceError;

  constructor(told: ServiceError) {
    super(told.message);
    this.told = told;
  }
}

const PATH = "/dashboard/audit/export";
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 8_000;
/** How often in a row it may be cut without a line in between. */
const MOST_CUTS = 6;
const LINE_END = 0x0a;
const CURSOR = { ndjson: /"cursor":"([^"]+)"\}$/, csv: /,([^,"]+)$/ };
/** The time of an entry is in its id, a UUIDv7: its first 48 bits, in milliseconds. */
const ENTRY_ID = /~([0-9a-f]{8})-([0-9a-f]{4})-/;

/** One export. Cut off, it goes on after the last whole line, without gap or repeat. */
export class ExportRun {
  readonly #format: ExportFormat;
  readonly #filters: AuditFilters;
  readonly #target: ExportTarget;
  readonly #onProgress: (progress: ExportProgress) => void;
  readonly #given = new AbortController();
  #progress: ExportProgress = { entries: 0, bytes: 0, first: null, last: null, isCut: false };
  #cursor: string | null = null;
  #hasHeader = false;

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
   * Writes all there is, and what is whole is there when this has resolved. May be called again after a failure: it goes on.
   *
   * @throws {ExportRefused} the service refused; anything else: it can't be reached, breaks off again and again, or the
   *   file can't be written.
   */
  async run(): Promise<void> {
    for (let cuts = 0; ; ) {
      const before = this.#progress.entries;
      try {
        await this.#stretch();
        break;
      } catch (error) {
        if (this.isGivenUp || !isPassing(error)) throw error;
        cuts = this.#progress.entries > before ? 1 : cuts + 1;
        if (cuts > MOST_CUTS) throw error;
        this.#note({ isCut: true });
        await pause(Math.min(FIRST_PAUSE_MS * 2 ** (cuts - 1), LAST_PAUSE_MS), this.#given.signal);
      }
    }
    await this.#target.finish();
  }

  /** Ends it, and leaves nothing. */
  async giveUp(): Promise<void> {
    this.#given.abort();
    await this.#target.discard();
  }

  /** What one request brings. */
  async #stretch(): Promise<void> {
    const query = new URLSearchParams({ format: this.#format });
    for (const [name, value] of Object.entries(this.#filters)) {
      if (value !== undefined) query.set(name, value);
    }
    if (this.#cursor !== null) query.set("cursor", this.#cursor);
    const { signal } = this.#given;
    const response = await watchedFetch(`${PATH}?${query}`, { signal, cache: "no-store" });
    if (!response.ok || response.body === null) throw await refusalOf(response);
    this.#note({ isCut: false });
    let isHeaderNext = this.#format === "csv" && this.#cursor === null;
    let rest = new Uint8Array();
    for await (const piece of piecesOf(response.body)) {
      const bytes = joined(rest, piece);
      const end = bytes.lastIndexOf(LINE_END) + 1;
      rest = bytes.slice(end);
      if (end === 0) continue;
      const begin = isHeaderNext ? bytes.indexOf(LINE_END) + 1 : 0;
      isHeaderNext = false;
      // Begun anew, as there was no line to go on after, it has its header already.
      if (begin > 0 && !this.#hasHeader) {
        await this.#write(bytes.slice(0, begin), 0);
        this.#hasHeader = true;
      }
      const lines = bytes.slice(begin, end);
      if (lines.length > 0) await this.#write(lines, countLines(lines));
    }
    if (rest.length > 0) throw new Error("the export broke off within a line");
  }

  async #write(bytes: Uint8Array<ArrayBuffer>, entries: number): Promise<void> {
    try {
      await this.#target.write(bytes);
    } catch (error) {
      throw new UnwrittenError(error);
    }
    const cursor = entries === 0 ? null : cursorIn(bytes, this.#format);
    this.#cursor = cursor ?? this.#cursor;
    const last = timeOf(cursor) ?? this.#progress.last;
    this.#note({
      entries: this.#progress.entries + entries,
      bytes: this.#progress.bytes + bytes.length,
      first: this.#progress.first ?? last,
      last,
    });
  }

  #note(change: Partial<ExportProgress>): void {
    this.#progress = { ...this.#progress, ...change };
    this.#onProgress(this.#progress);
  }
}

/** The file could not be written: trying again is of no use. */
export class UnwrittenError extends Error {
  constructor(cause: unknown) {
    super("The file can't be written.", { cause });
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof UnwrittenError) return false;
  if (!(error instanceof ExportRefused)) return true;
  return ["server_is_overloaded", "internal_error", "rate_limit_exceeded"].includes(error.told.code);
}

async function refusalOf(response: Response): Promise<Error> {
  const told = envelopeIn(await response.json().catch(() => null));
  return told === null ? new Error(`answered ${response.status}`) : new ExportRefused(told);
}

async function* piecesOf(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
  // Streams are not iterable in every browser.
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Who leaves early wants no more of it; what has failed says so where it is read.
    reader.cancel().catch(() => {});
  }
}

function joined(one: Uint8Array<ArrayBuffer>, other: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (one.length === 0) return other;
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_END); at !== -1; at = bytes.indexOf(LINE_END, at + 1)) count++;
  return count;
}

/** The cursor of the last line, which goes on after it. */
function cursorIn(lines: Uint8Array, format: ExportFormat): string | null {
  const begin = lines.lastIndexOf(LINE_END, lines.length - 2) + 1;
  const last = new TextDecoder().decode(lines.subarray(begin, lines.length - 1));
  return CURSOR[format].exec(last)?.[1] ?? null;
}

function timeOf(cursor: string | null): Date | null {
  const [, high, low] = ENTRY_ID.exec(cursor ?? "") ?? [];
  return high === undefined || low === undefined ? null : new Date(Number.parseInt(high + low, 16));
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
