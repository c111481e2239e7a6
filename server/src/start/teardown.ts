import type { Logger } from "pino";
import { inTime } from "../errors/deadline.ts";

/** However little time is left, a step gets so much: most have nothing to wait for. */
const MIN_STEP_MS = 10;

interface Step {
  readonly name: string;
  readonly undo: () => Promise<void>;
  readonly timeoutMs: (() => number) | null;
}

/** Things to undo, in reverse order of their making. */
export class Teardown {
  readonly #steps: Step[] = [];
  #current: string | null = null;

  /** What is being undone; `null` when nothing is. */
  get current(): string | null {
    return this.#current;
  }

  /**
   * @param name for the log, when it can't be undone.
   * @param timeoutMs how long it may take, asked when it is its turn. Otherwise half of the time that is left.
   */
  add(name: string, undo: () => Promise<void>, timeoutMs: (() => number) | null = null): void {
    this.#steps.push({ name, undo, timeoutMs });
  }

  /** @param leftMs how much time is left for all of it. */
  async run(log: Logger, leftMs: () => number): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      const { name, undo, timeoutMs } = step;
      this.#current = name;
      const limitMs = Math.max(MIN_STEP_MS, timeoutMs?.() ?? leftMs() / 2);
      // One part that can't be stopped must not keep the others from it: neither by failing nor by never ending.
      const ended = undo().then(
        () => true,
        (error: unknown) => {
          log.error({ part: name, err: error }, "a part did not stop cleanly");
          return true;
        },
      );
      const isInTime = await inTime(limitMs, ended);
      if (isInTime === null) log.error({ part: name, limitMs }, "a part did not stop in time");
    }
    this.#current = null;
  }
}
