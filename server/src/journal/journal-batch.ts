import type { JournalLine } from "./journal-line.ts";
import type { Segment } from "./segment-names.ts";

/** Lines that the journal writes together, or refuses together while they wait or are written. */
export class JournalBatch {
  readonly lines: JournalLine[] = [];
  /** The segment that the lines were written to, for those who have appended them. */
  readonly written: Promise<Segment>;
  #resolve: (segment: Segment) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #refusal: { readonly error: unknown } | null = null;

  constructor() {
    this.written = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Ends the wait of those who have appended lines. They may still be being written: see {@link requireNotRefused}. */
  refuse(error: unknown): void {
    this.#refusal ??= { error };
    this.#reject(error);
  }

  /** @throws what the lines were refused with, if they were: then they must not stay. */
  requireNotRefused(): void {
    if (this.#refusal !== null) throw this.#refusal.error;
  }

  /** Tells those who have appended lines that these are written, unless they were refused before. */
  accept(segment: Segment): void {
    this.#resolve(segment);
  }
}
