import { Failure } from "../errors/failure.ts";
import type { Segment } from "./segment-names.ts";

/** A write of the journal, as the requests whose lines it contains see it: if the write fails, they are refused. */
export class JournalWrite {
  /** The promise that the journal returned, which all lines of the write share. */
  readonly appended: Promise<Segment>;
  /** Resolves with the segment when the lines are written. Rejects with a {@link Failure} if they can't be. */
  readonly whenWritten: Promise<Segment>;
  /** The segment, once the lines are written; `null` before, and if they can't be written. */
  writtenIn: Segment | null = null;

  constructor(appended: Promise<Segment>) {
    this.appended = appended;
    this.whenWritten = appended.then((segment) => {
      this.writtenIn = segment;
      return segment;
    }, notRecorded);
    // Callers that await it see its failure. `record` reports it to all others.
    this.whenWritten.catch(() => {});
  }
}

function notRecorded(cause: unknown): never {
  throw new Failure(
    "server_is_overloaded",
    "The service cannot record requests at the moment. Try again shortly.",
    { retryAfterMs: 1_000, cause },
  );
}
