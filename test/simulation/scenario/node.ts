import { Disk } from "../world/disk.ts";
import type { Network } from "../world/network.ts";
import { Life } from "../world/world.ts";
import { openExchange } from "./exchange.ts";
import type { Attempt, Outcome } from "./facts.ts";
import { type Service, type ServiceParts, startService } from "./service.ts";

/** What starts a process that could not start waits so long before it tries again. */
const START_AGAIN_MS = 2_000;
const MIN_DOWN_MS = 500;
const KILLED_AFTER_MS = 15_000;

export type NodeParts = Omit<ServiceParts, "life" | "nodeId" | "disk" | "databaseLink" | "redisLink"> & {
  readonly name: string;
  readonly network: Network;
  /** Told of each attempt that has ended for its client. */
  readonly onEnded: (attempt: Attempt, outcome: Outcome) => void;
  /** Told why it could not start. */
  readonly onNotStarted: (why: string) => void;
};

/** A machine with a disk, on which the service is started again whenever it dies. */
export class SimulatedNode {
  readonly name: string;
  readonly #parts: NodeParts;
  readonly #disk = new Disk();
  #life: Life | null = null;
  #service: Service | null = null;
  /** Requests that the present process is answering. */
  readonly #open = new Set<Attempt>();
  #wallClockAheadMs = 0;

  constructor(parts: NodeParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  /** `null` while it is starting or down. */
  get service(): Service | null {
    return this.#service;
  }

  get openAttempts(): ReadonlySet<Attempt> {
    return this.#open;
  }

  start(): void {
    if (this.#life !== null) return;
    const { world, network, pace } = this.#parts;
    const life = new Life(this.name);
    life.wallClockAheadMs = this.#wallClockAheadMs;
    life.onEnd = () => this.#ended();
    this.#life = life;
    world.note(() => `${this.name} starts`);
    pace.happened();
    world.schedule(0, life, () => {
      startService({
        ...this.#parts,
        life,
        nodeId: this.name,
        disk: this.#disk,
        databaseLink: network.wire(this.name, "database").linkOf(life),
        redisLink: network.wire(this.name, "redis").linkOf(life),
      }).then(
        (service) => {
          this.#service = service;
          pace.happened();
          world.note(() => `${this.name} serves`);
        },
        (error: unknown) => {
          const why = `${this.name} does not start: ${String(error)}`;
          world.note(() => why);
          this.#parts.onNotStarted(why);
          life.end();
          world.schedule(START_AGAIN_MS, null, () => this.start());
        },
      );
    });
  }

  /** Has the process die when it was woken so often, and start again at a time, or a moment later. */
  crash(afterSteps: number, backAtMs: number): void {
    const life = this.#life;
    if (life === null) return;
    life.crashAtStep = life.steps + afterSteps;
    life.onEnd = () => {
      this.#parts.world.note(() => `${this.name} dies`);
      this.#ended();
      const { world } = this.#parts;
      world.schedule(Math.max(MIN_DOWN_MS, backAtMs - world.nowMs), null, () => this.start());
    };
  }

  /** Ends the process at once. It starts again at a time, or a moment later. */
  kill(backAtMs: number): void {
    this.crash(0, backAtMs);
    this.#life?.end();
  }

  /** Has the process stop as on SIGTERM, and start again. One that does not stop in time is killed. */
  restart(): void {
    const { world } = this.#parts;
    const life = this.#life;
    if (life === null || this.#service === null) return;
    const endAndStart = () => {
      if (life.isOver) return;
      life.end();
      world.schedule(MIN_DOWN_MS, null, () => this.start());
    };
    world.note(() => `${this.name} is told to stop`);
    this.perform(async (service) => {
      // From now on it is not handed requests any more.
      this.#service = null;
      await service.stop();
      endAndStart();
    });
    world.schedule(KILLED_AFTER_MS, null, endAndStart);
  }

  /** What was to crash later does not crash any more. */
  calm(): void {
    if (this.#life !== null) this.#life.crashAtStep = Number.POSITIVE_INFINITY;
  }

  /** Has the process stand still. What reaches it waits until it goes on. */
  freeze(untilMs: number): void {
    if (this.#life !== null) this.#life.frozenUntilMs = Math.max(this.#life.frozenUntilMs, untilMs);
  }

  setDiskFull(isFull: boolean): void {
    this.#disk.isFull = isFull;
  }

  jumpClock(byMs: number): void {
    this.#wallClockAheadMs += byMs;
    if (this.#life !== null) this.#life.wallClockAheadMs = this.#wallClockAheadMs;
  }

  /** Hands it a request. @returns `false` when nothing listens there. */
  handle(attempt: Attempt): boolean {
    const { world, onEnded } = this.#parts;
    const service = this.#service;
    if (service === null || this.#life === null) return false;
    this.#open.add(attempt);
    const exchange = openExchange(attempt.wish, (outcome, requestId) => {
      attempt.requestId = requestId;
      this.#open.delete(attempt);
      onEnded(attempt, outcome);
    });
    world.schedule(0, this.#life, () => void service.requests.handle(exchange));
    return true;
  }

  /** Has the process do something, unless it is down. */
  perform(act: (service: Service) => Promise<void>): void {
    const service = this.#service;
    if (service !== null && this.#life !== null)
      this.#parts.world.schedule(0, this.#life, () => void act(service));
  }

  #ended(): void {
    this.#life = null;
    this.#service = null;
    this.#parts.pace.happened();
    const open = [...this.#open];
    this.#open.clear();
    for (const attempt of open) this.#parts.onEnded(attempt, { kind: "broken" });
  }
}
