import { setTimeout as delay } from "node:timers/promises";
import type { EventLog } from "./event-log.ts";
import type { Postmaster } from "./postmaster.ts";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 10_000;
/** A server that ran for this long did not end because of a faulty start. */
const STEADY_MS = 60_000;

/**
 * Starts a server, and starts it again whenever it ends, until it is stopped.
 *
 * @returns `stop`, which resolves when the server has ended and will not be restarted.
 * @throws the error of `launch` when the first start fails.
 */
export async function keepRunning(
  launch: (abort: AbortSignal) => Promise<Postmaster>,
  log: EventLog,
): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const stopped = new Promise<null>((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });

  /** Returns `null` if `stop` is called first. */
  const startAgain = async (firstWaitMs: number): Promise<Postmaster | null> => {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
      // The delay rejects when stopped, which the next line checks.
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return null;
      try {
        const postmaster = await launch(signal);
        log("the bundled PostgreSQL runs again", "info");
        return postmaster;
      } catch (error) {
        if (signal.aborted) return null;
        log(error instanceof Error ? error.message : String(error), "error");
      }
    }
  };

  const watch = async (first: Postmaster): Promise<void> => {
    let waitMs = FIRST_WAIT_MS;
    for (let running: Postmaster | null = first; running !== null; ) {
      const startedAt = performance.now();
      const end: string | null = await Promise.race([stopped, running.exited]);
      if (end === null) return running.stop();
      log(`the bundled PostgreSQL ended unexpectedly (${end}): starting it again`, "error");
      if (performance.now() - startedAt > STEADY_MS) waitMs = FIRST_WAIT_MS;
      running = await startAgain(waitMs);
      waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
    }
  };

  const watching = watch(await launch(signal));
  return {
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}
