import type { Logger } from "pino";

/** Something a node does now and then beside its requests. */
export interface Chore {
  readonly name: string;
  readonly everyMs: number;
  run(): Promise<unknown>;
}

/** Does each chore in its time, never twice at once. A failure is told once, and so is its end. */
export function startChores(chores: readonly Chore[], log: Logger): { stop(): Promise<void> } {
  const running = new Map<Chore, Promise<void>>();
  const failing = new Set<Chore>();
  const perform = async (chore: Chore) => {
    try {
      await chore.run();
      if (failing.delete(chore)) log.info({ chore: chore.name }, "a background job succeeded again");
    } catch (error) {
      if (!failing.has(chore))
        log.error({ chore: chore.name, err: error }, "a background job failed and will be retried");
      failing.add(chore);
    }
  };
  const timers = chores.map((chore) =>
    setInterval(() => {
      if (running.has(chore)) return;
      running.set(
        chore,
        perform(chore).finally(() => running.delete(chore)),
      );
    }, chore.everyMs),
  );
  return {
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(running.values());
    },
  };
}
