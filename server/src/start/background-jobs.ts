import type { Logger } from "pino";
import { MINUTE_MS } from "../../../sdk/src/contract/time-units.ts";
import { reasonOf } from "../errors/problems.ts";

/** A job that is due more rarely runs this long after the start, too: nodes may be replaced more often than it is due. */
const FIRST_RUN_MS = 5 * MINUTE_MS;

/** Work that a node does regularly, beside its requests. */
interface BackgroundJob {
  readonly name: string;
  readonly everyMs: number;
  run(): Promise<unknown>;
}

export type BackgroundJobs = ReturnType<typeof backgroundJobs>;

/** The background jobs of a node. A job never runs twice at once; its first failure is logged, and its recovery. */
export function backgroundJobs(log: Logger) {
  const jobs: BackgroundJob[] = [];
  const timers: NodeJS.Timeout[] = [];
  const running = new Map<BackgroundJob, Promise<void>>();
  const failing = new Set<BackgroundJob>();

  const perform = async (job: BackgroundJob): Promise<void> => {
    try {
      await job.run();
      if (failing.delete(job)) log.info({ job: job.name }, "a background job works again");
    } catch (error) {
      if (!failing.has(job))
        log.error({ job: job.name, ...reasonOf(error) }, "a background job failed; it will be retried");
      failing.add(job);
    }
  };
  const runOnce = (job: BackgroundJob) => {
    if (running.has(job)) return;
    const ended = perform(job).finally(() => running.delete(job));
    running.set(job, ended);
  };
  return {
    add: (...added: readonly BackgroundJob[]) => void jobs.push(...added),
    start: () => {
      for (const job of jobs) {
        timers.push(setInterval(runOnce, job.everyMs, job));
        if (job.everyMs > FIRST_RUN_MS) timers.push(setTimeout(runOnce, FIRST_RUN_MS, job));
      }
    },
    /** Resolves when the jobs that run have ended. */
    stop: async (): Promise<void> => {
      for (const timer of timers.splice(0)) clearInterval(timer);
      await Promise.all(running.values());
    },
  };
}
