import { Failure } from "../errors/failure.ts";

const TICK_MS = 100;
/** Of how late the event loop is, this much of the past counts beside the present. */
const MEMORY = 0.7;
const RETRY_AFTER_MS = 1_000;

/**
 * Watches how late the event loop is. A process that is late takes no new requests: those that it has would come to an end
 * later still, and all of them too late.
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

  /** To be called when a tenth of a second should have passed. */
  tick(): void {
    const late = Math.max(0, this.#monotonicMs() - this.#expectedMs);
    this.#lagMs = this.#lagMs * MEMORY + late * (1 - MEMORY);
    this.#expectedMs = this.#monotonicMs() + TICK_MS;
  }

  get lagMs(): number {
    return this.#lagMs;
  }

  /** Requests that were turned away so far. */
  get shed(): number {
    return this.#shed;
  }

  /** @throws {Failure} `server_is_overloaded` while the process is late. */
  requireCapacity(): void {
    if (this.#lagMs <= this.#maxLagMs) return;
    this.#shed++;
    throw new Failure("server_is_overloaded", "The service has more to do than it can. Try again shortly.", {
      retryAfterMs: RETRY_AFTER_MS,
    });
  }
}
