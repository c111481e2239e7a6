import type { Logger } from "pino";
import { resultWithin } from "../errors/deadline.ts";
import { reasonOf } from "../errors/problems.ts";

/** The minimum time of a step. Most steps need no more. */
const MIN_STEP_MS = 10;

interface Step {
  readonly name: string;
  readonly undo: () => Promise<void>;
  readonly timeoutMs: (() => number) | null;
}

/** Steps that close the parts of the service, in reverse order of their opening. */
export class Teardown {
  readonly #steps: Step[] = [];
  #current: string | null = null;
  #running: Promise<void> | null = null;

  /** The name of the step that runs; `null` when none does. */
  get current(): string | null {
    return this.#current;
  }

  /**
   * @param name is logged when the step fails or hangs.
   * @param timeoutMs returns how long the step may take, when it is its turn. By default half of the time that is left.
   */
  add(name: string, undo: () => Promise<void>, timeoutMs: (() => number) | null = null): void {
    this.#steps.push({ name, undo, timeoutMs });
  }

  /**
   * Runs all steps, once: a second call waits for the first.
   *
   * @param leftMs returns the time that is left for all steps together.
   */
  run(log: Logger, leftMs: () => number): Promise<void> {
    this.#running ??= this.#run(log, leftMs);
    return this.#running;
  }

  async #run(log: Logger, leftMs: () => number): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      const { name, timeoutMs } = step;
      this.#current = name;
      const limitMs = Math.max(MIN_STEP_MS, timeoutMs?.() ?? leftMs() / 2);
      const isInTime = await resultWithin(limitMs, end(step, log));
      if (isInTime === null) log.error({ part: name, limitMs }, "a part of the service did not stop in time");
    }
    this.#current = null;
  }
}

/** A part that fails must not prevent the others from stopping, whether its promise rejects or the function throws. */
async function end({ name, undo }: Step, log: Logger): Promise<true> {
  try {
    await undo();
  } catch (error) {
    log.error({ part: name, ...reasonOf(error) }, "a part of the service did not stop cleanly");
  }
  return true;
}
