import { type Rate, WINDOW_S } from "../contract/limits.ts";

/** The amounts used in the last minute, by second. Where a limit is `null` nothing is counted. */
export class SlidingMinute {
  readonly #seconds = new Map<number, number>();

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

  /** Corrects the amount of a second. If the second has expired, what was used beyond the amount counts from now. */
  correct(second: number, more: number, nowMs: number): void {
    if (leavesAtMs(second) <= nowMs) {
      if (more > 0) this.add(more, nowMs);
      return;
    }
    const amount = this.#seconds.get(second);
    if (amount !== undefined) this.#seconds.set(second, Math.max(0, amount + more));
  }

  /** Returns the time until `amount` fits below the limit if nothing else is added; 0 when it fits now. */
  waitMs(amount: number, limit: number | null, nowMs: number): number {
    if (limit === null) return 0;
    let excess = this.used(nowMs) + amount - limit;
    for (const [second, used] of this.#seconds) {
      if (excess <= 0) break;
      excess -= used;
      if (excess <= 0) return leavesAtMs(second) - nowMs;
    }
    return 0;
  }

  rate(limit: number | null, nowMs: number): Rate | null {
    if (limit === null) return null;
    const remaining = Math.max(0, limit - this.used(nowMs));
    const last = [...this.#seconds.keys()].at(-1);
    return { limit, remaining, resetMs: last === undefined ? 0 : leavesAtMs(last) - nowMs };
  }

  isEmpty(nowMs: number): boolean {
    this.#dropOld(nowMs);
    return this.#seconds.size === 0;
  }

  #dropOld(nowMs: number): void {
    // A Map iterates in order of insertion, so the oldest second comes first.
    for (const second of this.#seconds.keys()) {
      if (leavesAtMs(second) > nowMs) return;
      this.#seconds.delete(second);
    }
  }
}

export function secondOf(nowMs: number): number {
  return Math.floor(nowMs / 1_000);
}

/** A second expires a minute after its last moment. */
function leavesAtMs(second: number): number {
  return (second + 1 + WINDOW_S) * 1_000;
}
