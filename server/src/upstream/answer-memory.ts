import { Failure } from "../errors/failure.ts";

/** There is no memory for an answer. This tells nothing about its upstream, and another upstream's answer would need as much. */
export class AnswerNotKept extends Failure {}

/** The memory that a request may use for the answer of its upstream. The bytes stay reserved until the request has ended. */
export interface AnswerMemory {
  /** Releases what is reserved, as another upstream is asked. */
  begin(): void;
  /** Reserves more bytes. @throws {AnswerNotKept} */
  reserve(bytes: number): void;
  /**
   * Reserves more bytes, and waits for other requests to end if there are not enough. `null`: the bytes are reserved, and nothing has to be awaited.
   *
   * @throws {AnswerNotKept}
   */
  reserveWhenFree(bytes: number): Promise<void> | null;
}
