import type { ChildProcess } from "node:child_process";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../config/config.ts";
import { announce, type BannerFacts } from "../banner.ts";
import { endEarlySignals } from "../early-signals.ts";
import { STOP_MS } from "../shutdown.ts";
import type { Startup } from "../startup.ts";
import { sharedPort, spawnWorker } from "./spawn-worker.ts";
import { leftoverFolders, removeDrained, workerFolder } from "./worker-folders.ts";
import { WorkerMetrics } from "./worker-metrics.ts";
import { ALIVE_EVERY_MS, DRAINS, type FromWorker, type ToWorker, WORKER_VARIABLE } from "./worker-process.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
const MIN_RESTART_DELAY_MS = 500;
const MAX_RESTART_DELAY_MS = 30_000;
/** A worker that has run for this long is started again after the shortest delay. */
const STABLE_MS = 60_000;
/** A worker is killed this long after it should have ended by itself. */
const KILL_AFTER_MS = 2_000;
/**
 * A worker that is silent for so many seconds is killed: it stands still, and its clients wait. The supervisor counts the seconds in which it runs
 * itself, because on a machine that stood still the workers did, too.
 */
const MAX_SILENT_TICKS = 30;
/** `OSTIARY_MAX_CONNECTIONS` is at least this. */
const MIN_CONNECTIONS = 10;

interface SupervisorParts {
  readonly config: Config;
  readonly log: Logger;
  /** Starts a process of the service with variables added to the environment. Throws, for example, when memory is exhausted. */
  readonly spawn: (environment: Readonly<Record<string, string>>) => ChildProcess;
  readonly port: number;
}

/** A process that was started as a worker, or could not be. */
class WorkerChild {
  readonly number: number;
  readonly startedMs = performance.now();
  /** Resolves with the facts of the banner when it is ready; with `null` when it ends before. */
  readonly ready: Promise<{ readonly facts: BannerFacts | null } | null>;
  /** Resolves when it has ended. `reason`: the signal that killed it, in which case `code` is `null`, or why it could not be started. */
  readonly exited: Promise<{ readonly code: number | null; readonly reason: string | null }>;
  readonly #process: ChildProcess | null;
  #isReady = false;
  #isReplaced = false;
  #silentTicks = 0;

  constructor(number: number, child: ChildProcess | Error, received: (message: FromWorker) => void) {
    this.number = number;
    if (child instanceof Error) {
      this.#process = null;
      this.exited = Promise.resolve({ code: 1, reason: child.message });
      this.ready = Promise.resolve(null);
      return;
    }
    this.#process = child;
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, reason: signal }));
      child.on("error", (error) => {
        // A process that was started reports errors of its channel, too, and runs on or ends.
        if (child.pid === undefined) resolve({ code: 1, reason: error.message });
      });
    });
    const ready = new Promise<{ readonly facts: BannerFacts | null }>((resolve) => {
      child.on("message", (message: FromWorker) => {
        this.#silentTicks = 0;
        if (message.kind === "replaced") this.#isReplaced = true;
        if (message.kind !== "ready") return received(message);
        this.#isReady = true;
        resolve({ facts: message.facts });
      });
    });
    this.ready = Promise.race([ready, this.exited.then(() => null)]);
  }

  get isStarted(): boolean {
    return this.#process?.pid !== undefined;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Whether another process is its node now. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** Counts a second. @returns whether the worker has been silent for too long. If it still is, it tells so again as much later. */
  tick(): boolean {
    return this.#isReady && ++this.#silentTicks % MAX_SILENT_TICKS === 0;
  }

  collect(id: number): void {
    this.send({ kind: "collect metrics", id });
  }

  /** Signals the process by its id: after `ChildProcess.kill`, Deno reports every exit as one by that signal. */
  signal(signal: NodeJS.Signals): void {
    const pid = this.#process?.pid;
    if (pid === undefined) return;
    try {
      process.kill(pid, signal);
    } catch {
      // The process has just ended.
    }
  }

  send(message: ToWorker): void {
    // A worker that has just ended has no channel.
    if (this.#process?.connected) this.#process.send(message, () => {});
  }
}

/** Runs the workers of a service of several processes, so that they behave as one service. */
export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly #children = new Set<WorkerChild>();
  readonly #metrics = new WorkerMetrics();
  readonly #stopped = new AbortController();
  #exitCode = 0;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
  }

  /**
   * Records what earlier nodes left whose folders this start does not use. A process of its own replays each of their journals and releases their
   * credit.
   *
   * @returns `false` when one could not be, whose process has logged the reason, or when a signal stops the service.
   */
  async drainLeftovers(): Promise<boolean> {
    const { config, log } = this.#parts;
    for (const folder of await leftoverFolders(config.dataDir, config.workers)) {
      if (this.#isStopping) return false;
      const child = this.#start(0, { [WORKER_VARIABLE]: DRAINS, OSTIARY_DATA_DIR: folder });
      const isDone = (await this.#untilReady(child)) !== null;
      await child.exited;
      if (!isDone) return false;
      if (await removeDrained(folder, config.dataDir))
        log.info({ folder }, "recorded what an earlier worker left");
      else log.error({ folder }, "an earlier worker left journal lines that could not be recorded");
    }
    return !this.#isStopping;
  }

  /** Starts all workers. @returns the facts of the banner; `null` when one could not start. The worker has logged the reason. */
  async start(): Promise<BannerFacts | null> {
    const { workers, takeOver } = this.#parts.config;
    // The first migrates the database and creates the first users.
    const first = this.#startWorker(1, takeOver);
    const isReady = await this.#untilReady(first);
    if (isReady === null || this.#isStopping) return null;
    const numbers = Array.from({ length: workers - 1 }, (_, index) => index + 2);
    const others = numbers.map((number) => this.#startWorker(number));
    const areReady = await Promise.all(others.map((child) => this.#untilReady(child)));
    if (areReady.includes(null) || this.#isStopping) return null;
    // A worker may have ended since it was ready. It is started again, too.
    for (const child of [first, ...others]) void this.#keepRunning(child);
    setInterval(() => this.#killSilent(), ALIVE_EVERY_MS).unref();
    return isReady.facts;
  }

  /**
   * Passes a signal on to all workers. SIGTERM and SIGINT stop the service. SIGHUP would end a worker that has just been started and does not
   * listen for it yet. Such a worker reads its files anyway.
   */
  signal(signal: (typeof SIGNALS)[number]): void {
    if (signal !== "SIGHUP") this.#stopped.abort();
    for (const child of this.#children) {
      if (signal !== "SIGHUP" || child.isReady) child.signal(signal);
    }
  }

  /** Resolves when a signal stops the service, or a worker was replaced by another node. */
  async untilStopped(): Promise<void> {
    if (this.#isStopping) return;
    await new Promise((resolve) => this.#stopped.signal.addEventListener("abort", resolve, { once: true }));
  }

  /** Stops all workers and resolves with the exit code when they have ended. Workers that do not end in time are killed. */
  async stop(): Promise<number> {
    const { prestopS, drainS } = this.#parts.config;
    if (!this.#isStopping) this.signal("SIGTERM");
    const ended = Promise.all([...this.#children].map((child) => child.exited));
    const timeoutMs = (prestopS + drainS) * 1_000 + STOP_MS + KILL_AFTER_MS;
    await Promise.race([ended, setTimeout(timeoutMs, null, { ref: false })]);
    for (const child of this.#children) {
      this.#parts.log.fatal({ worker: child.number }, "the time to stop is over: the worker is killed");
      this.#exitCode = 1;
      child.signal("SIGKILL");
    }
    return this.#exitCode;
  }

  get #isStopping(): boolean {
    return this.#stopped.signal.aborted;
  }

  /** As `child.ready`. A worker that fails logs the reason itself; one that a signal ends, as when memory is exhausted, cannot. */
  async #untilReady(child: WorkerChild) {
    const ready = await child.ready;
    if (ready !== null) return ready;
    const { reason } = await child.exited;
    if (child.isStarted && reason !== null && !this.#isStopping) {
      this.#parts.log.fatal(
        { worker: child.number, signal: reason },
        "a signal ended a worker before it was ready. The system sends SIGKILL when memory is exhausted",
      );
    }
    return null;
  }

  /** @param takesOver Whether it removes the other nodes from the database, as `OSTIARY_TAKE_OVER` asks. */
  #startWorker(number: number, takesOver = false): WorkerChild {
    const { config, port } = this.#parts;
    const connections = Math.max(MIN_CONNECTIONS, Math.ceil(config.maxConnections / config.workers));
    return this.#start(number, {
      [WORKER_VARIABLE]: String(number),
      PORT: String(port),
      OSTIARY_DATA_DIR: workerFolder(config.dataDir, number),
      OSTIARY_MAX_CONNECTIONS: String(connections),
      // Each further worker, and each restarted one, would remove the other workers from the registry.
      OSTIARY_TAKE_OVER: takesOver ? "1" : "0",
    });
  }

  #start(number: number, environment: Readonly<Record<string, string>>): WorkerChild {
    const spawned = this.#spawn({ ...environment, OSTIARY_WORKERS: "1" });
    const child = new WorkerChild(number, spawned, (message) => void this.#received(child, message));
    this.#children.add(child);
    void child.exited.then(({ code, reason }) => {
      if (!child.isStarted)
        this.#parts.log.error({ worker: number, reason }, "a worker could not be started");
      this.#children.delete(child);
      this.#metrics.ended(child);
      if (code !== 0) this.#exitCode = 1;
    });
    return child;
  }

  #spawn(environment: Readonly<Record<string, string>>): ChildProcess | Error {
    try {
      return this.#parts.spawn(environment);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  async #received(child: WorkerChild, message: FromWorker): Promise<void> {
    if (message.kind === "metrics") this.#metrics.answered(message.id, message.metrics);
    if (message.kind !== "read metrics") return;
    const { id } = message;
    child.send({ kind: "all metrics", id, all: await this.#metrics.collect([...this.#children]) });
  }

  /** Kills workers that stand still. Each is started again. */
  #killSilent(): void {
    for (const child of this.#children) {
      if (!child.tick() || this.#isStopping) continue;
      this.#parts.log.error(
        { worker: child.number },
        "a worker stands still, and its clients wait: it is killed",
      );
      child.signal("SIGKILL");
    }
  }

  /** Starts a worker again each time it ends, later each time that it does not run for long. */
  async #keepRunning(first: WorkerChild): Promise<void> {
    const { number } = first;
    let delayMs = MIN_RESTART_DELAY_MS;
    for (let child = first; ; child = this.#startWorker(number)) {
      const { code, reason } = await child.exited;
      if (this.#isStopping) return;
      // The service keeps running or has been replaced, so the end of one worker is no failure of the service.
      this.#exitCode = 0;
      if (child.isReplaced) return this.signal("SIGTERM");
      if (performance.now() - child.startedMs > STABLE_MS) delayMs = MIN_RESTART_DELAY_MS;
      this.#parts.log.error(
        { worker: number, code, signal: reason, delayMs },
        "a worker has ended: starting it again",
      );
      await setTimeout(delayMs, null, { signal: this.#stopped.signal }).catch(() => {});
      if (this.#isStopping) return;
      delayMs = Math.min(2 * delayMs, MAX_RESTART_DELAY_MS);
    }
  }
}

/**
 * Runs the service as several workers if `OSTIARY_WORKERS` says so, until it is stopped. Before that, records what nodes left in
 * folders that this start does not continue: there may be some after the number of workers was changed.
 *
 * @returns the exit code; `null` when this process is to be the service itself.
 */
export async function supervise(
  config: Config,
  { log, hasBanner }: Pick<Startup, "log" | "hasBanner">,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number | null> {
  // The bundled database has one node.
  if (config.databaseUrl === null) return null;
  const port = config.workers === 1 ? config.port : await sharedPort(config.host, config.port);
  const spawn = (added: Readonly<Record<string, string>>) => spawnWorker({ ...environment, ...added });
  const supervisor = new Supervisor({ config, log, spawn, port });
  const handlers = SIGNALS.map((signal) => [signal, () => supervisor.signal(signal)] as const);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  endEarlySignals();
  const isDrained = await supervisor.drainLeftovers();
  if (isDrained && config.workers === 1) {
    for (const [signal, handler] of handlers) process.off(signal, handler);
    return null;
  }
  const facts = isDrained ? await supervisor.start() : null;
  if (facts !== null) {
    announce({ log, hasBanner }, facts);
    await supervisor.untilStopped();
  }
  return supervisor.stop();
}
