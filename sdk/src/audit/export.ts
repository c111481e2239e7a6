import type { AuditExportParams } from "../contract/audit.ts";
import { aborted } from "../core/abort.ts";
import type { Answer } from "../core/answer.ts";
import { functionOf, notNegative, objectOf } from "../core/checks.ts";
import { lastingProblem } from "../core/connection-problem.ts";
import { readWithTimeout } from "../core/deadline.ts";
import { notFromService, streamOf } from "../core/error-answers.ts";
import {
  APIConnectionError,
  APIError,
  type APIUserAbortError,
  InternalServerError,
  OstiaryError,
  RateLimitError,
} from "../core/errors.ts";
import { leavable, untilLeft } from "../core/iteration.ts";
import { pause } from "../core/pause.ts";
import { backoffOf } from "../core/retry.ts";
import { cancelledBy } from "../core/sse.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";
import type { WireAnswer } from "../core/wire.ts";

/** Progress of an export. */
export interface ExportProgress {
  /** Entries so far: lines without the header of a CSV export and without those of a proof. */
  readonly lines: number;
  /** Characters so far. */
  readonly characters: number;
  /** The number of interruptions after which it resumed or is about to. */
  readonly resumptions: number;
  /** The timestamp of the last line's entry. */
  readonly timestamp: Date | null;
  /** Pass it as `cursor` to resume after the last line, also in another process. */
  readonly cursor: string | null;
}

/** Options of an export. */
export interface ExportOptions extends RequestOptions {
  /** Called every few thousand lines, after each interruption and at the end. */
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
  /** The maximum number of consecutive interruptions without a line. Default 8. The wait grows up to a minute. */
  readonly maxResumptions?: number | undefined;
}

/** A line, with the numbers of entries and characters up to its end. */
interface PassedLine extends Pick<ExportProgress, "lines" | "characters"> {
  readonly line: string;
}

const MAX_PAUSE_MS = 60_000;
const DEFAULT_RESUMPTIONS = 8;
/** The cursor at the end of a line. The header of CSV ends with the name of its column. */
const CURSORS = { ndjson: /"cursor":"([^"]+)"\}$/, csv: /,(?!cursor$)([^,"]+)$/ };
/** Matches the beginning of a line that is not an entry. */
const PROOF_LINE = '{"proof":';
/** The cursor of the last line of an export with a proof ends with this. */
const END_OF_PROOF = "~end";
/** A UUIDv7 begins with 48 bits of milliseconds. */
const ENTRY_ID = /~([0-9a-f]{8})-([0-9a-f]{4})-/;

/**
 * All matching entries as lines, oldest first. Iterate over it once. After an interruption it resumes after the last complete line,
 * without gap or repetition.
 */
export class AuditExport implements AsyncIterable<string> {
  readonly #transport: Transport;
  readonly #params: AuditExportParams;
  readonly #options: ExportOptions;
  /** The progress as of the last piece of text. */
  #progress: ExportProgress;
  /** The last line that an iteration over lines has passed on, empty before the first; `null` in an iteration over text. */
  #passed: PassedLine | null = null;
  #started = false;
  #hasHeader = false;

  constructor(transport: Transport, params: AuditExportParams, options: ExportOptions) {
    this.#transport = transport;
    this.#params = objectOf("params", params);
    this.#options = objectOf("options", options);
    if (options.onProgress != null) functionOf("onProgress", options.onProgress);
    const cursor = params.cursor ?? null;
    this.#progress = { lines: 0, characters: 0, resumptions: 0, timestamp: null, cursor };
  }

  /** The progress up to the last line or piece of text that the iteration has passed on. */
  get progress(): ExportProgress {
    if (this.#passed === null) return this.#progress;
    const { line, lines, characters } = this.#passed;
    const cursor = cursorOf(line, this.#format) ?? this.#params.cursor ?? null;
    return { ...this.#progress, lines, characters, timestamp: timeOf(cursor), cursor };
  }

  /**
   * Lines without line breaks. The first line of CSV is the header, unless the export continues after a cursor.
   *
   * @throws {APIError} the service refused; {@link APIConnectionError} the service cannot be reached or keeps interrupting;
   *   {@link APIUserAbortError} `signal` was aborted.
   */
  [Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    const text = this.text();
    return leavable(this.#lines(text), () => {
      text.return();
    });
  }

  /** The same as pieces of text that end with a line break, which is faster for writing to a file. */
  text(): AsyncGenerator<string, void, undefined> {
    return untilLeft(this.#options, (options) => this.#read(options));
  }

  get #format(): "ndjson" | "csv" {
    return this.#params.format ?? "ndjson";
  }

  /** The text's lines. The text is ahead of them by what is left of its last piece. */
  async *#lines(text: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
    let { lines, characters } = this.#progress;
    let isHeader = this.#format === "csv" && this.#progress.cursor === null;
    if (!this.#started) this.#passed = { line: "", lines, characters };
    for await (const piece of text) {
      for (const line of piece.slice(0, -1).split("\n")) {
        if (!isHeader && !line.startsWith(PROOF_LINE)) lines++;
        isHeader = false;
        characters += line.length + 1;
        this.#passed = { line, lines, characters };
        yield line;
      }
    }
  }

  async *#read(options: ExportOptions): AsyncGenerator<string, void, undefined> {
    if (this.#started) throw new OstiaryError("An export can be iterated only once.");
    this.#started = true;
    const maxResumptions = notNegative("maxResumptions", options.maxResumptions ?? DEFAULT_RESUMPTIONS);
    for (let failures = 0; ; ) {
      const before = this.#progress.characters;
      try {
        yield* this.#request(options);
        options.onProgress?.(this.#progress);
        return;
      } catch (error) {
        const hasBegun = this.#progress.characters > 0;
        if (!mayResume(error, hasBegun, options.signal)) throw error;
        failures = this.#progress.characters > before ? 1 : failures + 1;
        if (failures > maxResumptions) throw error;
        this.#progress = { ...this.#progress, resumptions: this.#progress.resumptions + 1 };
        options.onProgress?.(this.#progress);
        await pause(backoffOf(failures - 1, MAX_PAUSE_MS), options.signal);
      }
    }
  }

  /** Yields the text of one request. */
  async *#request(options: ExportOptions): AsyncGenerator<string, void, undefined> {
    const { proof } = this.#params;
    const format = this.#format;
    const cursor = this.#progress.cursor ?? undefined;
    const query = { ...this.#params, format, proof: proof || undefined, cursor };
    const answer = await this.#transport.send({ method: "GET", path: "/audit/export", query }, options);
    // A request that restarts at the beginning sends the header again, which is skipped.
    let isHeader = format === "csv" && cursor === undefined;
    let isRepeatedHeader = isHeader && this.#hasHeader;
    let rest = "";
    for await (const piece of piecesOf(answer)) {
      const text = rest + piece;
      const end = text.lastIndexOf("\n") + 1;
      rest = text.slice(end);
      if (end === 0) continue;
      const whole = text.slice(isRepeatedHeader ? text.indexOf("\n") + 1 : 0, end);
      this.#note(whole, format, isHeader && !isRepeatedHeader, answer.wire);
      this.#hasHeader ||= isHeader;
      isHeader = false;
      isRepeatedHeader = false;
      if (whole === "") continue;
      yield whole;
      options.onProgress?.(this.#progress);
    }
    if (rest !== "") throw new APIConnectionError("The export was interrupted within a line.");
    // Not every proxy tells that the service closed the connection early. Only an export with a proof has a line at its end.
    if (proof && !this.#progress.cursor?.endsWith(END_OF_PROOF)) {
      throw new APIConnectionError("The export was interrupted before its last line.");
    }
  }

  /** @throws {APIError} the last line is none of an export. */
  #note(whole: string, format: "ndjson" | "csv", hasHeader: boolean, wire: WireAnswer): void {
    let lines = hasHeader ? -1 : 0;
    let start = 0;
    for (let end = whole.indexOf("\n"); end !== -1; end = whole.indexOf("\n", start)) {
      if (!whole.startsWith(PROOF_LINE, start)) lines++;
      start = end + 1;
    }
    const last = whole.slice(whole.lastIndexOf("\n", whole.length - 2) + 1, -1);
    const own = cursorOf(last, format);
    const isExport = hasHeader ? /^.*,cursor\n/.test(whole) : whole === "" || own !== null;
    if (!isExport) throw notFromService(wire);
    const cursor = own ?? this.#progress.cursor;
    this.#progress = {
      ...this.#progress,
      lines: this.#progress.lines + lines,
      characters: this.#progress.characters + whole.length,
      timestamp: timeOf(cursor) ?? this.#progress.timestamp,
      cursor,
    };
  }
}

async function* piecesOf({
  wire,
  controller,
  release,
  streamIdleTimeoutMs,
}: Answer): AsyncGenerator<string, void, undefined> {
  const { signal } = controller;
  let isWhole = false;
  let stop = release;
  try {
    const text = cancelledBy(signal, streamOf(wire).pipeThrough(new TextDecoderStream()));
    stop = text.release;
    for (;;) {
      const { done, value } = await readWithTimeout(streamIdleTimeoutMs, text.reader);
      if (signal.aborted) throw aborted(signal);
      if (done) break;
      yield value;
    }
    isWhole = true;
  } catch (cause) {
    if (cause instanceof OstiaryError) throw cause;
    if (signal.aborted) throw aborted(signal);
    throw new APIConnectionError("The export was interrupted.", { cause });
  } finally {
    release();
    // A caller that leaves early ends the request.
    if (!isWhole) controller.abort();
    stop();
  }
}

/** The cursor after a complete line of an export; `null` if the line has none, like the header of CSV. */
export function cursorOf(line: string, format: "ndjson" | "csv"): string | null {
  return CURSORS[format].exec(line)?.[1] ?? null;
}

function timeOf(cursor: string | null): Date | null {
  const [, high, low] = ENTRY_ID.exec(cursor ?? "") ?? [];
  const milliseconds = Number.parseInt(`${high}${low}`, 16);
  // The first line of a proof may come before every entry.
  return Number.isNaN(milliseconds) || milliseconds === 0 ? null : new Date(milliseconds);
}

function mayResume(error: unknown, hasBegun: boolean, signal: AbortSignal | undefined): boolean {
  // One that has begun may have moved to a network whose sign-in page refuses every certificate at first.
  if (signal?.aborted || (!hasBegun && lastingProblem(error) !== null)) return false;
  if (error instanceof APIError)
    return error instanceof InternalServerError || error instanceof RateLimitError;
  return error instanceof APIConnectionError;
}
