import { Failure } from "../errors/failure.ts";
import type { Segment } from "./segment-files.ts";

/** A write of the journal, as the requests whose lines it contains see it: if the write fails, they are refused. */
export class JournalWrite {
  /** The journal's own promise. */
  readonly written: Promise<Segment>;
  /** The segment that the lines are written to. Rejects with a {@link Failure} if they can't be written. */
  readonly segment: Promise<Segment>;
  /** The segment, once the lines are written; `null` before, and if they can't be written. */
  writtenIn: Segment | null = null;

  constructor(written: Promise<Segment>) {
    this.written = written;
    this.segment = written.then((segment) => {
      this.writtenIn = segment;
      return segment;
    }, notRecorded);
    // Callers that await `segment` see its failure. `record` reports it to all others.
    this.segment.catch(() => {});
  }
}

function notRecorded(cause: unknown): never {
  throw new Failure(
    "server_is_overloaded",
    "The service cannot record requests at the moment. Try again shortly.",
    { retryAfterMs: 1_000, cause },
  );
}
