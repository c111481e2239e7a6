import { Failure } from "../errors/failure.ts";

/** There is no memory for an answer. It is not the upstream's fault, and another upstream's answer would need as much. */
export class NoAnswerMemory extends Failure {}

/** The memory that a request may use for the answer of its upstream. The bytes stay reserved until the request has ended. */
export interface AnswerMemory {
  /** Releases what is reserved: the request is sent to another upstream, whose answer is counted from its beginning. */
  reset(): void;
  /** Reserves more bytes. @throws {NoAnswerMemory} */
  reserve(bytes: number): void;
  /**
   * Reserves more bytes, and waits for other requests to end if there are not enough. `null`: the bytes are reserved, and nothing has to be awaited.
   *
   * @throws {NoAnswerMemory}
   */
  reserveWhenFree(bytes: number): Promise<void> | null;
}
