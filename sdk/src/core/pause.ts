import { aborted, onAbort, unlessRejected } from "./abort.ts";

/** Waits. @throws {APIUserAbortError} as soon as the signal is aborted. */
export function pause(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const waiting = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  return unlessRejected(waiting, (reject) =>
    onAbort(signal, () => {
      clearTimeout(timer);
      reject(aborted(signal));
    }),
  );
}
