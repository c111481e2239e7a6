import { Unavailable } from "./failure.ts";

/** A request waits this long for a store before it fails with 503. */
export const ANSWER_TIMEOUT_MS = 5_000;

/** Resolves with the answer, or with `null` if it does not come in time. Rejects as the answer does. */
export function resultWithin<Answer>(timeoutMs: number, answer: Promise<Answer>): Promise<Answer | null> {
  // A race of promises takes twice as long, and every stream waits here.
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

/** Resolves with the answer. An answer that comes after the timeout is ignored. @throws {Unavailable} on timeout. */
export function withTimeout<Answer>(timeoutMs: number, question: () => Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Unavailable("a store did not answer in time")), timeoutMs);
    question()
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  });
}

/** As {@link withTimeout}, for a store's answer that a request waits for. */
export function withAnswerTimeout<Answer>(question: () => Promise<Answer>): Promise<Answer> {
  return withTimeout(ANSWER_TIMEOUT_MS, question);
}

/** A pause that can be ended early. */
export interface Pause {
  /** Resolves with whether it was ended early. */
  readonly over: Promise<boolean>;
  end(): void;
}

export function pauseFor(ms: number): Pause {
  let end = () => {};
  const over = new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    end = () => {
      clearTimeout(timer);
      resolve(true);
    };
  });
  return { over, end };
}
