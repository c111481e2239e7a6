import { Unavailable } from "./failure.ts";

/** The answer, if it comes in time. What comes later is not waited for. @throws {Unavailable} */
export function within<Answer>(patienceMs: number, question: () => Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Unavailable("a store did not answer in time")), patienceMs);
    question()
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  });
}
