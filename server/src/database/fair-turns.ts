/** Limits on concurrent and waiting turns. */
export interface TurnLimits {
  /** The maximum of concurrent turns of all names together. */
  readonly max: number;
  /** The maximum of concurrent turns of one name. */
  readonly maxOfName: number;
  /** The maximum of callers of one name that wait. Further ones are refused at once. */
  readonly maxWaitingOfName: number;
}

/** Why there was no turn: `waiting`, when too many of the name are waiting; `timeout`, when it did not come in time. */
export type NoTurn = "waiting" | "timeout";

interface Line {
  running: number;
  /** Functions that grant the turns, in the order of arrival. */
  readonly waiting: Set<() => void>;
}

/**
 * Schedules turns on a shared resource fairly between names. Names are served in rotation, and the callers of a name in order, so that a
 * busy name delays others by at most one turn.
 */
export class FairTurns {
  readonly #limits: TurnLimits;
  /** In the order of service. Idle names have no line. */
  readonly #lines = new Map<string, Line>();
  #running = 0;
  #waiting = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** The number of current turns of a name. */
  runningOf(name: string): number {
    return this.#lines.get(name)?.running ?? 0;
  }

  /** Resolves with a function that ends the turn and must be called once, or with the reason why there was no turn. */
  take(name: string, timeoutMs: number): Promise<(() => void) | NoTurn> {
    const line = this.#lineOf(name);
    if (line.waiting.size === 0 && this.#hasRoom(line)) {
      return Promise.resolve(this.#begin(name, line));
    }
    if (line.waiting.size >= this.#limits.maxWaitingOfName) return Promise.resolve("waiting");
    return new Promise((resolve) => {
      const leave = () => {
        clearTimeout(timer);
        line.waiting.delete(grant);
        this.#waiting--;
      };
      const grant = () => {
        leave();
        resolve(this.#begin(name, line));
      };
      const timer = setTimeout(() => {
        leave();
        this.#forgetIdle(name, line);
        resolve("timeout");
      }, timeoutMs);
      line.waiting.add(grant);
      this.#waiting++;
    });
  }

  #lineOf(name: string): Line {
    const line: Line = this.#lines.get(name) ?? { running: 0, waiting: new Set() };
    this.#lines.set(name, line);
    return line;
  }

  #hasRoom(line: Line): boolean {
    return this.#running < this.#limits.max && line.running < this.#limits.maxOfName;
  }

  /** @returns the function that ends the turn. */
  #begin(name: string, line: Line): () => void {
    this.#running++;
    line.running++;
    // The name that was just served moves to the end.
    this.#lines.delete(name);
    this.#lines.set(name, line);
    return () => this.#end(name, line);
  }

  #end(name: string, line: Line): void {
    this.#running--;
    line.running--;
    this.#forgetIdle(name, line);
    for (const next of this.#lines.values()) {
      const [grant] = next.waiting;
      if (grant === undefined || !this.#hasRoom(next)) continue;
      grant();
      return;
    }
  }

  #forgetIdle(name: string, line: Line): void {
    if (line.running === 0 && line.waiting.size === 0) this.#lines.delete(name);
  }
}
