/** The rate is measured over this time. */
const MEASURED_MS = 500;
/** No process serves fewer requests per millisecond than this at its best. */
const MIN_BEST_PER_MS = 0.2;
/** An earlier rate counts up to this many times the present one, because requests may take longer now than they did then. */
const MAX_TIMES_PRESENT = 2;

/** The rates at which the process serves requests, which tell what it can serve. All are requests per millisecond. */
export class ServedRate {
  /** The requests served since the last measurement, and when that was. */
  #served = 0;
  #measuredMs: number;
  #bestPerMs = 0;
  #lastPerMs = 0;

  constructor(nowMs: number) {
    this.#measuredMs = nowMs;
  }

  /** The highest rate measured, or what {@link boundBest} has left of it. */
  get bestPerMs(): number {
    return this.#bestPerMs;
  }

  /** Counts a served request. */
  count(): void {
    this.#served++;
  }

  /** Measures the rate if enough time has passed. Call it in each tick. */
  measure(nowMs: number): void {
    const passedMs = nowMs - this.#measuredMs;
    if (passedMs < MEASURED_MS) return;
    const perMs = this.#served / passedMs;
    this.#bestPerMs = Math.max(this.#bestPerMs, perMs);
    this.#lastPerMs = perMs;
    this.#served = 0;
    this.#measuredMs = nowMs;
  }

  /** Bounds the best rate by the present one. Call it when an overload begins. */
  boundBest(nowMs: number): void {
    // A process that has just started, or was idle, has no measurement of what it can serve.
    const servedPerMs = this.#served / Math.max(1, nowMs - this.#measuredMs);
    const presentPerMs = Math.max(servedPerMs, this.#lastPerMs, MIN_BEST_PER_MS);
    this.#bestPerMs = Math.max(presentPerMs, Math.min(this.#bestPerMs, MAX_TIMES_PRESENT * presentPerMs));
  }
}
