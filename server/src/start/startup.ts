import process from "node:process";
import type { Logger } from "pino";
import { SECOND_MS } from "../../../sdk/src/contract/time-units.ts";
import { reasonOf } from "../errors/problems.ts";
import type { BackgroundJobs } from "./background-jobs.ts";
import type { Settings } from "./read-settings.ts";
import type { Shutdown } from "./shutdown.ts";
import type { Teardown } from "./teardown.ts";
import type { WorkerProcess } from "./workers/worker-process.ts";

/**
 * The parameters with which every part of the service is opened. A function that opens a part adds its background jobs to
 * `jobs`, and its clean-up to `teardown`.
 */
export interface Startup {
  readonly settings: Settings;
  /** The version of the service's package. */
  readonly version: string;
  readonly folders: {
    /** The SQL files of the database's migrations. */
    readonly migrations: URL;
    /** The built dashboard. */
    readonly dashboard: URL;
    /** What is served beside the dashboard: the package of the SDK. */
    readonly site: URL;
    /** The built documentation. */
    readonly docs: URL;
  };
  readonly log: Logger;
  /** Whether the banner is printed: in demo mode, on a terminal. */
  readonly hasBanner: boolean;
  readonly jobs: BackgroundJobs;
  readonly teardown: Teardown;
  readonly shutdown: Shutdown;
  /** `null` when the service is this process alone. */
  readonly worker: WorkerProcess | null;
  readonly now: () => Date;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  /** Milliseconds of a clock that also counts the time for which the machine was suspended: see `passedTime`. */
  readonly passedMs: () => number;
}

/** Calls `check`, which reads a file again if it has changed, every two seconds and on SIGHUP. */
export function watchFile(
  { log, jobs, teardown }: Startup,
  name: string,
  check: () => Promise<unknown>,
): void {
  const checkNow = () => {
    check().catch((error: unknown) => log.error(reasonOf(error), `the ${name} can't be read`));
  };
  process.on("SIGHUP", checkNow);
  teardown.add(name, async () => void process.off("SIGHUP", checkNow));
  jobs.add({ name: `check the ${name}`, everyMs: 2 * SECOND_MS, run: check });
}
