import type { BreakerSettings } from "../catalog/catalog.ts";

/**
 * `closed`: requests pass. `open`: no request passes for a time. `half-open`: a request passes as a probe. The others wait for its outcome, but
 * not longer than the breaker was open: then another probe passes, as the first one may hang.
 */
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
  /** How often it has opened or closed. */
  #changes = 0;
  /** The last probe, if the others wait for it. */
  #probe: { readonly untilMs: number } | null = null;

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
    if (this.state !== "half-open") return this.state === "closed";
    return this.#probe === null || this.#monotonicMs() >= this.#probe.untilMs;
  }

  /** Milliseconds until a request may pass. */
  get waitMs(): number {
    return this.state === "open" ? Math.max(0, this.#openUntilMs - this.#monotonicMs()) : 0;
  }

  /** Lets the next request pass as a probe, however long the breaker would stay open. */
  probe(): void {
    if (this.#openings === 0) return;
    this.#openings = 1;
    this.#openUntilMs = this.#monotonicMs();
    this.#probe = null;
  }

  /** Lets a request pass. @returns `null` if none may. */
  enter(): Attempt | null {
    if (!this.isPassable) return null;
    const openings = this.#openings;
    const probe = openings === 0 ? null : { untilMs: this.#monotonicMs() + this.#openMs(openings) };
    // The changes before the request, and by it.
    let changes = this.#changes;
    this.#probe = probe;
    const probed = () => {
      if (this.#probe === probe) this.#probe = null;
    };
    let isEnded = false;
    return {
      begun: () => {
        probed();
        // Failures stay counted: an upstream that breaks off every answer opens the breaker again at once.
        this.#close();
        changes = this.#changes;
      },
      ended: (outcome) => {
        if (isEnded) return;
        isEnded = true;
        probed();
        if (outcome === "success") {
          this.#failures = 0;
          this.#close();
        } else if (outcome === "failure") this.#failed(changes);
      },
    };
  }

  #close(): void {
    if (this.#openings === 0) return;
    this.#openings = 0;
    this.#changes++;
  }

  #failed(changes: number): void {
    this.#failures++;
    // A request that was sent before the breaker opened or closed and fails later tells nothing new.
    if (changes !== this.#changes) return;
    if (this.#failures < this.#settings.failures) return;
    this.#openings++;
    this.#changes++;
    this.#openUntilMs = this.#monotonicMs() + this.#openMs(this.#openings);
  }

  /** How long the breaker stays open after this many openings in a row. */
  #openMs(openings: number): number {
    return Math.min(this.#settings.openMs * 2 ** (openings - 1), MAX_OPEN_MS);
  }
}
