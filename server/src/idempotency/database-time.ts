/** A reading of the database's clock: how far it is ahead of the node's monotonic clock, and when it was read by the latter. */
interface Reading {
  readonly offsetMs: number;
  readonly atMs: number;
}

interface DatabaseTimeParts {
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  /** The node's time, in milliseconds since 1970. */
  readonly wallMs: () => number;
  /** How long a jump of the database's clock is not believed. */
  readonly windowMs: number;
}

/**
 * The database's time, which follows a jump ahead only when the window has passed. What is to last for a part of the window therefore does not end
 * because the clock of the database was set, or because a replica with another clock took the place of the primary. A clock that is set back
 * is followed at once: then things last longer.
 *
 * Until the first window has passed, the node's own clock stands for the readings before its start.
 */
export class DatabaseTime {
  readonly #parts: DatabaseTimeParts;
  /** In their order: the last one from before the window, and all since. */
  readonly #readings: Reading[];

  constructor(parts: DatabaseTimeParts) {
    this.#parts = parts;
    const atMs = parts.monotonicMs();
    this.#readings = [{ offsetMs: parts.wallMs() - atMs, atMs }];
  }

  /** Notes what the database's clock showed, in milliseconds since 1970, when it answered just now. */
  note(databaseMs: number): void {
    const atMs = this.#parts.monotonicMs();
    this.#readings.push({ offsetMs: databaseMs - atMs, atMs });
    const beginMs = atMs - this.#parts.windowMs;
    const first = this.#readings.findLastIndex((reading) => reading.atMs <= beginMs);
    this.#readings.splice(0, Math.max(0, first));
  }

  /** The time in milliseconds since 1970, by the reading of the window that was least ahead. */
  nowMs(): number {
    return this.#parts.monotonicMs() + Math.min(...this.#readings.map(({ offsetMs }) => offsetMs));
  }
}
