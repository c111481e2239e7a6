import { setTimeout as delay } from "node:timers/promises";
import type { Postmaster } from "./postmaster.ts";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 10_000;
/** A server that ran for this long did not end because of a faulty start. */
const STEADY_MS = 60_000;

/** Keeps a server running: restarts it whenever it ends, until it is stopped. */
export class Supervisor {
  readonly #launch: (abort: AbortSignal) => Promise<Postmaster>;
  readonly #log: (message: string) => void;
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;

  private constructor(
    first: Postmaster,
    launch: (abort: AbortSignal) => Promise<Postmaster>,
    log: (message: string) => void,
  ) {
    this.#launch = launch;
    this.#log = log;
    this.#watching = this.#watch(first);
  }

  /** Rejects with the error of `launch` when the first start fails. */
  static async start(
    launch: (abort: AbortSignal) => Promise<Postmaster>,
    log: (message: string) => void,
  ): Promise<Supervisor> {
    return new Supervisor(await launch(new AbortController().signal), launch, log);
  }

  /** Resolves when the server has ended and will not be restarted. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
  }

  async #watch(first: Postmaster): Promise<void> {
    const stop = new Promise<null>((resolve) => {
      this.#stopping.signal.addEventListener("abort", () => resolve(null), { once: true });
    });
    let waitMs = FIRST_WAIT_MS;
    let running: Postmaster | null = first;
    while (running !== null) {
      const startedAt = performance.now();
      const end: string | null = await Promise.race([stop, running.exited]);
      if (end === null) return running.stop();
      this.#log(`the embedded PostgreSQL ended unexpectedly (${end}): starting it again`);
      if (performance.now() - startedAt > STEADY_MS) waitMs = FIRST_WAIT_MS;
      running = await this.#startAgain(waitMs);
      waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
    }
  }

  /** Returns `null` if the supervisor is stopped first. */
  async #startAgain(firstWaitMs: number): Promise<Postmaster | null> {
    const { signal } = this.#stopping;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
      // The delay rejects when stopped, which the next line checks.
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return null;
      try {
        const postmaster = await this.#launch(signal);
        this.#log("the embedded PostgreSQL runs again");
        return postmaster;
      } catch (error) {
        if (signal.aborted) return null;
        this.#log(error instanceof Error ? error.message : String(error));
      }
    }
  }
}
