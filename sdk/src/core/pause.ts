import { aborted, onAbort } from "./abort.ts";

/** Waits. @throws {APIUserAbortError} as soon as the signal is aborted. */
export function pause(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      release();
      resolve();
    }, waitMs);
    const release = onAbort(signal, () => {
      clearTimeout(timer);
      reject(aborted(signal));
    });
  });
}
