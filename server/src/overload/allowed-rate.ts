import { LONG_MS, TICK_MS } from "./overload-detector.ts";

/** Capacity that was not used is kept for this long, so that a burst can use it. */
const BURST_MS = 50;
/** Turns are short while ticks are no later than this. */
const SHORT_MS = 20;
/** If refusals take a higher share of the time, they are why turns are long, however few requests are served. */
const HIGH_REFUSING_SHARE = 0.25;
/** A late tick counts as this many at most. */
const MAX_TICKS = 5;

/** The factors by which the rate changes in each tick. */
const FACTOR = {
  /** Turns are short. */
  short: 1.01,
  /**
   * Turns are neither short nor long. A refused client waits for about one turn. The factor is near 1, because many small accounts
   * that send at once make a single turn longer.
   */
  between: 0.98,
  /** Turns are not short, because of refusals. With fewer requests accepted there would be more refusals. */
  refusing: 1.05,
  /** Turns are long because of the requests that are served. */
  serving: 0.95,
};

/**
 * The minimum and maximum of the rate, as shares of the highest rate at which requests were served. There is a minimum, because turns are also long
 * while other processes use the processor. The maximum is above 1, because a process that has just started does not know its highest rate yet.
 */
const LIMITS = { min: 0.3, max: 1.5 };

/** What has happened since the last tick. */
interface Tick {
  /** How late the tick was, in milliseconds. */
  readonly lateMs: number;
  /** How long refusals took. */
  readonly refusingMs: number;
}

/** The rate at which an overloaded process lets requests in. The limits of accounts, in `admission`, apply to them afterwards. */
export class AllowedRate {
  #perMs = 0;
  /** How many requests may be accepted, counted at this time. Below 0 if requests were accepted in advance. */
  #acceptable = 0;
  #countedMs = 0;

  /** Requests per millisecond. */
  get perMs(): number {
    return this.#perMs;
  }

  /** Begins at the highest rate at which requests were served. Call it when an overload begins. */
  begin(nowMs: number, bestPerMs: number): void {
    this.#perMs = bestPerMs;
    this.#acceptable = 0;
    this.#countedMs = nowMs;
  }

  /** Raises the rate where turns are short, or where refusals take a high share of the time, and lowers it otherwise. Call it in each tick. */
  adapt(tick: Tick, bestPerMs: number): void {
    const ticks = Math.min(passedMs(tick) / TICK_MS, MAX_TICKS);
    const wantedPerMs = this.#perMs * factorOf(tick) ** ticks;
    this.#perMs = Math.min(Math.max(wantedPerMs, LIMITS.min * bestPerMs), LIMITS.max * bestPerMs);
  }

  /** How many requests may be accepted now. */
  acceptableAt(nowMs: number): number {
    const more = (nowMs - this.#countedMs) * this.#perMs;
    this.#acceptable = Math.min(this.#acceptable + more, 1 + BURST_MS * this.#perMs);
    this.#countedMs = nowMs;
    return this.#acceptable;
  }

  /** Counts an accepted request. */
  count(): void {
    this.#acceptable--;
  }
}

function factorOf(tick: Tick): number {
  const { lateMs, refusingMs } = tick;
  if (lateMs <= SHORT_MS) return FACTOR.short;
  if (refusingMs > passedMs(tick) * HIGH_REFUSING_SHARE) return FACTOR.refusing;
  return lateMs <= LONG_MS ? FACTOR.between : FACTOR.serving;
}

function passedMs({ lateMs }: Tick): number {
  return TICK_MS + lateMs;
}
