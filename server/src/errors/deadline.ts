import { Unavailable } from "./failure.ts";

/** The answer, or `null` when it is not there in time. What fails, fails. */
export async function inTime<Answer>(patienceMs: number, answer: Promise<Answer>): Promise<Answer | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, patienceMs, null);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The answer, if it comes in time. What comes later is not waited for. @throws {Unavailable} */
export function within<Answer>(patienceMs: number, question: () => Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Unavailable("a store did not answer in time")), patienceMs);
    question()
      .finally(() => clearTimeout(timer))
      .then(resolve, reject);
  });
}
