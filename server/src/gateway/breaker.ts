import type { BreakerSettings } from "../catalog/catalog.ts";

/** `closed`: requests pass. `open`: none does, for a time. `half-open`: one at a time does, to see. */
export type BreakerState = "closed" | "open" | "half-open";

const MAX_OPEN_MS = 60_000;

/** A request that was let through. */
export interface Attempt {
  /** The upstream has begun to answer. */
  begun(): void;
  /** To be called once. `unknown`: it says nothing about the upstream. */
  ended(outcome: "success" | "failure" | "unknown"): void;
}

/** Says whether an upstream is worth asking, by how it has answered. */
export class Breaker {
  readonly #settings: BreakerSettings;
  readonly #monotonicMs: () => number;
  #failures = 0;
  /** How often it was opened since it last was closed. */
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

  /** Whether a request would be let through just now. */
  get isPassable(): boolean {
    return this.state === "closed" || (this.state === "half-open" && !this.#isProbing);
  }

  /** Until a request may be let through, in milliseconds. */
  get waitMs(): number {
    return this.state === "open" ? Math.max(0, this.#openUntilMs - this.#monotonicMs()) : 0;
  }

  /** Lets a request through, unless it is not worth trying: `null`. */
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
        // Its end will tell more: an upstream that breaks off every answer is to be opened again at once.
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
    // What was sent before it opened, and fails after, says nothing new.
    if (this.#openings > 0 && !isProbe) return;
    if (this.#failures < this.#settings.failures) return;
    const { openMs } = this.#settings;
    this.#openUntilMs = this.#monotonicMs() + Math.min(openMs * 2 ** this.#openings, MAX_OPEN_MS);
    this.#openings++;
  }
}
