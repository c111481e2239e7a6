import type { Logger } from "pino";

/** Things to undo, in reverse order of their making. */
export class Teardown {
  readonly #steps: (() => Promise<void>)[] = [];

  add(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  async run(log: Logger): Promise<void> {
    for (const step of this.#steps.splice(0).reverse()) {
      // One part that can't be stopped must not keep the others from it.
      await step().catch((error: unknown) => log.error({ err: error }, "a part did not stop cleanly"));
    }
  }
}
