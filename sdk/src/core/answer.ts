import { aborted, unlessAborted } from "./abort.ts";
import { withTimeout } from "./deadline.ts";
import { errorFor, isJsonOfService } from "./error-answers.ts";
import { APIConnectionError, APIConnectionTimeoutError, APIUserAbortError } from "./errors.ts";
import { parsedJson } from "./fields.ts";
import type { WireAnswer } from "./wire.ts";

/** The timeout for reading the body of an error, unless the request's own ends earlier. */
const ERROR_BODY_TIMEOUT_MS = 10_000;
/** An error's body that is longer is not read. Those of the service have a few hundred bytes, and a batch's some thousands. */
const MAX_ERROR_BODY_BYTES = 1_048_576;

/** An answer that has begun. */
export interface Answer {
  readonly wire: WireAnswer;
  /** Ends the request. Follows the caller's signal. */
  readonly controller: AbortController;
  /** Stops listening to the caller's signal, which may outlive many requests. Call it when the body has been read. */
  readonly release: () => void;
  /** The request's `timeout`, and the time, as of `Date.now()`, when it runs out. */
  readonly timeoutMs: number;
  readonly deadlineMs: number;
  readonly streamIdleTimeoutMs: number;
  /** Sends the request again after its answer was interrupted. Resolves with the new answer. `null` if that is not safe. */
  readonly repeat: (() => Promise<Answer>) | null;
}

/** How a request was answered: its answer, or why none came. */
export type Outcome = Answer | APIConnectionError;

/** Discarding the body frees the connection. */
export function discard(outcome: Outcome): void {
  if (outcome instanceof APIConnectionError) return;
  outcome.wire.discard();
  outcome.release();
}

/** What a body in JSON stands for, also after interruptions if its request can be repeated: the answer becomes the one that was read. */
export async function wholeJson(answer: Answer): Promise<unknown> {
  for (;;) {
    try {
      const body = parsedJson(await textOf(answer));
      if (body !== undefined || !isJsonOfService(answer.wire)) return body;
      throw new APIConnectionError("The answer was interrupted.");
    } catch (error) {
      if (!(error instanceof APIConnectionError) || answer.repeat === null) throw error;
      Object.assign(answer, await answer.repeat());
    }
  }
}

async function textOf(
  { wire, controller, release, timeoutMs, deadlineMs }: Answer,
  maxBytes?: number,
): Promise<string> {
  try {
    const text = unlessAborted(wire.text(maxBytes), controller.signal);
    return await withTimeout(deadlineMs - Date.now(), text, () => lateAnswer(timeoutMs));
  } catch (cause) {
    if (cause instanceof APIConnectionTimeoutError) {
      controller.abort();
      throw cause;
    }
    if (controller.signal.aborted) throw aborted(controller.signal);
    throw new APIConnectionError("The answer was interrupted.", { cause });
  } finally {
    release();
  }
}

/** The error of an answer that is not a success. Its class depends on the status alone if the body cannot be read in time or is too long. */
export async function errorOf(answer: Outcome): Promise<Error> {
  if (answer instanceof APIConnectionError) return answer;
  const { status, headers } = answer.wire;
  const deadlineMs = Math.min(answer.deadlineMs, Date.now() + ERROR_BODY_TIMEOUT_MS);
  let text = "";
  try {
    text = await textOf({ ...answer, deadlineMs }, MAX_ERROR_BODY_BYTES);
  } catch (error) {
    if (error instanceof APIUserAbortError) return error;
    // The body was interrupted, or is too long.
  }
  // It may be a proxy's page.
  return errorFor(status, parsedJson(text), headers);
}

/** The error of an answer that was not complete in time. */
export function lateAnswer(timeoutMs: number, cause?: unknown): APIConnectionTimeoutError {
  return new APIConnectionTimeoutError(
    `No complete answer within ${timeoutMs} ms. Set \`timeout\` to wait for longer.`,
    "timeout",
    { cause },
  );
}
