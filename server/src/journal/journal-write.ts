import { Failure } from "../errors/failure.ts";
import type { JournalLine } from "./journal-line.ts";
import type { Segment } from "./segment-names.ts";

/** What becomes of an appended line. All lines of a write share it. */
export interface AppendedLine {
  /**
   * Resolves with the segment when the line would survive this process. Rejects with a {@link Failure} if it could not be written, or if the disk has
   * not answered for seconds: then the line is removed as soon as the disk answers.
   */
  readonly whenWritten: Promise<Segment>;
  /** The segment, once the line is written; `null` before, and if it can't be written. */
  readonly writtenIn: Segment | null;
}

/** A write of the journal: lines that are written together, or refused together while they wait or are written. */
export class JournalWrite implements AppendedLine {
  #lines: JournalLine[] = [];
  readonly whenWritten: Promise<Segment>;
  writtenIn: Segment | null = null;
  #resolve: (segment: Segment) => void = () => {};
  #reject: (failure: Failure) => void = () => {};
  #refusal: { readonly error: unknown } | null = null;

  constructor() {
    this.whenWritten = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Callers that await it see its failure. `record` reports it to all others.
    this.whenWritten.catch(() => {});
  }

  add(line: JournalLine): void {
    this.#lines.push(line);
  }

  /** The lines, which are to be written now. They are not kept, because a request keeps the write until it has ended. */
  takeLines(): readonly JournalLine[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  /** Ends the wait of those who have appended lines. They may still be being written: see {@link requireNotRefused}. */
  refuse(error: unknown): void {
    if (this.#refusal !== null) return;
    this.#refusal = { error };
    this.#reject(notRecorded(error));
  }

  /** @throws what the lines were refused with, if they were: then they must not stay. */
  requireNotRefused(): void {
    if (this.#refusal !== null) throw this.#refusal.error;
  }

  /** Tells those who have appended lines that these are written, unless they were refused before. */
  accept(segment: Segment): void {
    if (this.#refusal !== null) return;
    this.writtenIn = segment;
    this.#resolve(segment);
  }
}

function notRecorded(cause: unknown): Failure {
  return new Failure(
    "server_is_overloaded",
    "The service cannot record requests at the moment. Try again shortly.",
    { retryAfterMs: 1_000, cause },
  );
}
