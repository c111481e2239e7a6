import { Failure } from "../errors/failure.ts";

const TICK_MS = 100;
/** The weight of earlier measurements in the moving average of the delay. */
const MEMORY = 0.7;
const RETRY_AFTER_MS = 1_000;

/**
 * Measures the delay of the event loop. A delayed process refuses new requests, which would delay the running ones even
 * more.
 */
export class Overload {
  readonly #maxLagMs: number;
  readonly #monotonicMs: () => number;
  #expectedMs: number;
  #lagMs = 0;
  #shed = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(maxLagMs: number, monotonicMs: () => number) {
    this.#maxLagMs = maxLagMs;
    this.#monotonicMs = monotonicMs;
    this.#expectedMs = monotonicMs() + TICK_MS;
  }

  start(): void {
    this.#expectedMs = this.#monotonicMs() + TICK_MS;
    this.#timer = setInterval(() => this.tick(), TICK_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** Call it every tenth of a second. */
  tick(): void {
    const late = Math.max(0, this.#monotonicMs() - this.#expectedMs);
    this.#lagMs = this.#lagMs * MEMORY + late * (1 - MEMORY);
    this.#expectedMs = this.#monotonicMs() + TICK_MS;
  }

  get lagMs(): number {
    return this.#lagMs;
  }

  /** The number of requests that were refused. */
  get shed(): number {
    return this.#shed;
  }

  /** @throws {Failure} `server_is_overloaded` while the event loop is delayed. */
  requireCapacity(): void {
    if (this.#lagMs <= this.#maxLagMs) return;
    this.#shed++;
    throw new Failure("server_is_overloaded", "The service has more to do than it can. Try again shortly.", {
      retryAfterMs: RETRY_AFTER_MS,
    });
  }
}
