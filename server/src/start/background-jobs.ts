import type { Logger } from "pino";

/** Work that a node does regularly, beside its requests. */
export interface BackgroundJob {
  readonly name: string;
  readonly everyMs: number;
  run(): Promise<unknown>;
}

/** The background jobs of a node. A job never runs twice at once; its first failure is logged, and its recovery. */
export class BackgroundJobs {
  readonly #log: Logger;
  readonly #jobs: BackgroundJob[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #running = new Map<BackgroundJob, Promise<void>>();
  readonly #failing = new Set<BackgroundJob>();

  constructor(log: Logger) {
    this.#log = log;
  }

  add(...jobs: readonly BackgroundJob[]): void {
    this.#jobs.push(...jobs);
  }

  start(): void {
    for (const job of this.#jobs) this.#timers.push(setInterval(() => this.#runOnce(job), job.everyMs));
  }

  /** Resolves when the jobs that run have ended. */
  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await Promise.all(this.#running.values());
  }

  #runOnce(job: BackgroundJob): void {
    if (this.#running.has(job)) return;
    this.#running.set(
      job,
      this.#perform(job).finally(() => this.#running.delete(job)),
    );
  }

  async #perform(job: BackgroundJob): Promise<void> {
    try {
      await job.run();
      if (this.#failing.delete(job)) this.#log.info({ job: job.name }, "a background job works again");
    } catch (error) {
      if (!this.#failing.has(job))
        this.#log.error({ job: job.name, err: error }, "a background job failed; it will be retried");
      this.#failing.add(job);
    }
  }
}
