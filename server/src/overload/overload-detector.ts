/** How often the process looks for signs of an overload. */
export const TICK_MS = 20;
/** A turn of the event loop, or a wait for a later turn, is long if it takes longer than this. */
export const LONG_MS = 50;
/** Fewer requests than this in a turn, or fewer that wait for a later one, are no sign of an overload, however long they take. */
export const MANY_REQUESTS = 200;

/** The process is overloaded when every turn has been long for this time. */
const LONG_TURNS_MS = 150;
/** The process is also overloaded when its backlog has been long for this time. A burst is worked off sooner. */
const LONG_BACKLOG_MS = 500;
/** This time is enough while the number of waiting requests grows by the factor in this many ticks. */
const GROWING_BACKLOG_MS = 200;
const GROWTH = 1.1;
const GROWTH_TICKS = 5;
/** This time is needed while the number falls, because the process is working off what came while the system had stopped it. */
const FALLING_BACKLOG_MS = 1_500;

/** What has happened since the last tick. */
interface Tick {
  readonly nowMs: number;
  /** How late the timer of the tick was: about as long as the last turn of the event loop took. */
  readonly lateMs: number;
  /** The requests that have arrived. */
  readonly requests: number;
  /** The accepted requests that wait for a later turn, and how long the first of them has waited. */
  readonly waiting: number;
  readonly waitedMs: number;
}

/** Finds the signs that more requests come than the process can serve: long turns of the event loop, or a long backlog. */
export class OverloadDetector {
  /** When the first of a series of long turns ended; `null` if the last turn was not long. */
  #longTurnsSinceMs: number | null = null;
  /** Since when the backlog has been long; `null` if it is not. */
  #longBacklogSinceMs: number | null = null;
  /** How many requests waited at each of the last ticks. */
  readonly #waitingBefore: number[] = [];

  /** Call it in each tick. */
  observe({ nowMs, lateMs, requests, waiting, waitedMs }: Tick): {
    /** Whether many requests have waited long for a later turn. */
    readonly isBacklogLong: boolean;
    /** Whether that, or a series of long turns, has lasted for long enough. */
    readonly isOverloaded: boolean;
  } {
    const isTurnLong = lateMs > LONG_MS && requests >= MANY_REQUESTS;
    this.#longTurnsSinceMs = isTurnLong ? (this.#longTurnsSinceMs ?? nowMs) : null;
    const isBacklogLong = waitedMs > LONG_MS && waiting >= MANY_REQUESTS;
    this.#longBacklogSinceMs = isBacklogLong ? (this.#longBacklogSinceMs ?? nowMs) : null;
    const backlogMs = this.#maxBacklogMs(waiting);
    const isOverloaded =
      nowMs - (this.#longTurnsSinceMs ?? nowMs) > LONG_TURNS_MS ||
      nowMs - (this.#longBacklogSinceMs ?? nowMs) > backlogMs;
    return { isBacklogLong, isOverloaded };
  }

  /** How long a backlog of this size may last. It depends on whether the backlog grows or gets shorter. */
  #maxBacklogMs(waiting: number): number {
    this.#waitingBefore.push(waiting);
    if (this.#waitingBefore.length <= GROWTH_TICKS) return LONG_BACKLOG_MS;
    const before = this.#waitingBefore.shift() ?? 0;
    if (waiting > GROWTH * before) return GROWING_BACKLOG_MS;
    return waiting < before ? FALLING_BACKLOG_MS : LONG_BACKLOG_MS;
  }
}
