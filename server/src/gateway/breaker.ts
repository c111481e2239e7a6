import type { BreakerSettings } from "../catalog/catalog.ts";

/** `closed`: requests pass. `open`: no request passes for a time. `half-open`: one request at a time passes as a probe. */
export type BreakerState = "closed" | "open" | "half-open";

const MAX_OPEN_MS = 60_000;

/** A request that the breaker let pass. */
export interface Attempt {
  /** Call it when the upstream has begun to answer. */
  begun(): void;
  /** Call it when the request has ended. `unknown`: the outcome tells nothing about the upstream. */
  ended(outcome: "success" | "failure" | "unknown"): void;
}

/** A circuit breaker: it decides by an upstream's recent answers whether requests are sent to it. */
export class Breaker {
  readonly #settings: BreakerSettings;
  readonly #monotonicMs: () => number;
  #failures = 0;
  /** How often it has opened since it was last closed. */
  #openings = 0;
  #openUntilMs = 0;
  #isProbing = false;

  constructor(settings: BreakerSettings, monotonicMs: () => number) {
    this.#settings = settings;
    this.#monotonicMs = monotonicMs;
  }

  get state(): BreakerState {
    if (this.#openings === 0) return "closed";
    return this.#monotonicMs() < this.#openUntilMs ? "open" : "half-open";
  }

  /** Whether a request would pass now. */
  get isPassable(): boolean {
    return this.state === "closed" || (this.state === "half-open" && !this.#isProbing);
  }

  /** Milliseconds until a request may pass. */
  get waitMs(): number {
    return this.state === "open" ? Math.max(0, this.#openUntilMs - this.#monotonicMs()) : 0;
  }

  /** Lets a request pass. @returns `null` if none may. */
  enter(): Attempt | null {
    if (!this.isPassable) return null;
    let isProbe = this.state === "half-open";
    if (isProbe) this.#isProbing = true;
    const probed = () => {
      if (isProbe) this.#isProbing = false;
      isProbe = false;
    };
    let isEnded = false;
    return {
      begun: () => {
        probed();
        // Failures stay counted: an upstream that breaks off every answer opens the breaker again at once.
        this.#openings = 0;
      },
      ended: (outcome) => {
        if (isEnded) return;
        isEnded = true;
        const wasProbe = isProbe;
        probed();
        if (outcome === "success") {
          this.#failures = 0;
          this.#openings = 0;
        } else if (outcome === "failure") this.#failed(wasProbe);
      },
    };
  }

  #failed(isProbe: boolean): void {
    this.#failures++;
    // A request that was sent before the breaker opened and fails later tells nothing new.
    if (this.#openings > 0 && !isProbe) return;
    if (this.#failures < this.#settings.failures) return;
    const { openMs } = this.#settings;
    this.#openUntilMs = this.#monotonicMs() + Math.min(openMs * 2 ** this.#openings, MAX_OPEN_MS);
    this.#openings++;
  }
}
