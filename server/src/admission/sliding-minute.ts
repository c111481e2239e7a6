import { type Rate, WINDOW_S } from "../contract/limits.ts";

/** What was used in the last minute, by the second. */
export class SlidingMinute {
  readonly #seconds = new Map<number, number>();

  /** How much of a limit is used at a time. */
  used(nowMs: number): number {
    this.#dropOld(nowMs);
    let sum = 0;
    for (const amount of this.#seconds.values()) sum += amount;
    return sum;
  }

  add(amount: number, nowMs: number): void {
    const second = secondOf(nowMs);
    this.#seconds.set(second, (this.#seconds.get(second) ?? 0) + amount);
  }

  /** Corrects what was added in a second, unless that is over a minute ago. */
  correct(second: number, more: number): void {
    const amount = this.#seconds.get(second);
    if (amount !== undefined) this.#seconds.set(second, Math.max(0, amount + more));
  }

  /** Time until `amount` fits below the limit, if nothing else comes; 0 when it does now. */
  waitMs(amount: number, limit: number, nowMs: number): number {
    let excess = this.used(nowMs) + amount - limit;
    for (const [second, used] of this.#seconds) {
      if (excess <= 0) break;
      excess -= used;
      if (excess <= 0) return leavesAtMs(second) - nowMs;
    }
    return 0;
  }

  rate(limit: number, nowMs: number): Rate {
    const remaining = Math.max(0, limit - this.used(nowMs));
    const last = [...this.#seconds.keys()].at(-1);
    return { limit, remaining, resetMs: last === undefined ? 0 : leavesAtMs(last) - nowMs };
  }

  isEmpty(nowMs: number): boolean {
    this.#dropOld(nowMs);
    return this.#seconds.size === 0;
  }

  #dropOld(nowMs: number): void {
    // Seconds are added in their order, so the oldest comes first.
    for (const second of this.#seconds.keys()) {
      if (leavesAtMs(second) > nowMs) return;
      this.#seconds.delete(second);
    }
  }
}

export function secondOf(nowMs: number): number {
  return Math.floor(nowMs / 1_000);
}

/** A second leaves the window when its last moment is a minute ago. */
function leavesAtMs(second: number): number {
  return (second + 1 + WINDOW_S) * 1_000;
}
