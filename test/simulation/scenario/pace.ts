import type { Life, World } from "../world/world.ts";

/** So long after something has happened background jobs run as often as in the service. */
const BUSY_MS = 8_000;

/** Something that a process does now and then. */
export interface BackgroundJob {
  readonly everyMs: number;
  /** The same, while nothing happens. */
  readonly idleMs: number;
  run(): Promise<unknown>;
}

/**
 * Says how often background jobs run. Much of a long outage is a time in which nothing happens: then they run seldom, which
 * a service on a slow machine may do as well, and which makes a simulated hour cheap.
 */
export class Pace {
  readonly #world: World;
  #lastMs = 0;
  #jobs: Job[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  get isBusy(): boolean {
    return this.#world.nowMs - this.#lastMs < BUSY_MS;
  }

  /** To be called whenever something happens that jobs may have to see to. */
  happened(): void {
    const wasBusy = this.isBusy;
    this.#lastMs = this.#world.nowMs;
    if (wasBusy) return;
    this.#jobs = this.#jobs.filter(({ life }) => !life.isOver);
    for (const job of this.#jobs) job.hasten();
  }

  /** Runs a job for as long as the process lives, never twice concurrently. The next run retries after an error. */
  start(life: Life, job: BackgroundJob): void {
    const started = new Job(this.#world, this, life, job);
    this.#jobs.push(started);
    started.schedule();
  }

  /** Starts no job of the process any more, and resolves when those that run have ended. */
  async stop(life: Life): Promise<void> {
    const stopped = this.#jobs.filter((job) => job.life === life);
    this.#jobs = this.#jobs.filter((job) => job.life !== life);
    await Promise.all(stopped.map((job) => job.stop()));
  }
}

class Job {
  readonly life: Life;
  readonly #world: World;
  readonly #pace: Pace;
  readonly #job: BackgroundJob;
  #running: Promise<void> | null = null;
  #next = { isCancelled: false };
  #dueMs = Number.POSITIVE_INFINITY;

  constructor(world: World, pace: Pace, life: Life, job: BackgroundJob) {
    this.life = life;
    this.#world = world;
    this.#pace = pace;
    this.#job = job;
  }

  schedule(): void {
    const { everyMs, idleMs } = this.#job;
    this.#scheduleIn(this.#pace.isBusy ? everyMs : idleMs);
  }

  /** Never puts it off: what is due sooner stays so. */
  hasten(): void {
    const { everyMs } = this.#job;
    if (this.#world.nowMs + everyMs < this.#dueMs) this.#scheduleIn(everyMs);
  }

  #scheduleIn(ms: number): void {
    this.#next.isCancelled = true;
    this.#dueMs = this.#world.nowMs + ms;
    this.#next = this.#world.schedule(ms, this.life, () => {
      this.schedule();
      if (this.#running !== null) return;
      const ended = () => {
        this.#running = null;
      };
      this.#running = this.#job.run().then(ended, ended);
    });
  }

  async stop(): Promise<void> {
    this.#next.isCancelled = true;
    await this.#running;
  }
}
