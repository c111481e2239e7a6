import { Unavailable } from "./failure.ts";

/** A request that needs a store is answered within this time, if only with 503. */
export const ANSWER_TIMEOUT_MS = 5_000;

/** The answer, or `null` when it is not there in time. What fails, fails. */
export function resultWithin<Answer>(timeoutMs: number, answer: Promise<Answer>): Promise<Answer | null> {
  // Not a race of promises, which costs several times as much: every stream comes by here.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, timeoutMs, null);
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** The answer, if it comes in time. What comes later is not waited for. @throws {Unavailable} */
export function withTimeout<Answer>(timeoutMs: number, question: () => Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Unavailable("a store did not answer in time")), timeoutMs);
    question()
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  });
}
