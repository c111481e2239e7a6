import { type Rate, WINDOW_S } from "../../../server/src/contract/limits.ts";

/** The amounts of the last minute by second, as the scripts of Redis count them: in any order of seconds. */
export class RedisMinute {
  readonly #seconds = new Map<number, number>();

  add(amount: number, second: number): void {
    this.#seconds.set(second, (this.#seconds.get(second) ?? 0) + amount);
  }

  correct(second: number, more: number): void {
    const amount = this.#seconds.get(second);
    if (amount !== undefined) this.#seconds.set(second, Math.max(0, amount + more));
  }

  used(nowMs: number): number {
    this.#forget(nowMs);
    let sum = 0;
    for (const amount of this.#seconds.values()) sum += amount;
    return sum;
  }

  waitMs(amount: number, limit: number, nowMs: number): number {
    let excess = this.used(nowMs) + amount - limit;
    if (excess <= 0) return 0;
    const inOrder = [...this.#seconds].sort(([one], [other]) => one - other);
    for (const [second, used] of inOrder) {
      excess -= used;
      if (excess <= 0) return leavesAtMs(second) - nowMs;
    }
    return 0;
  }

  rate(limit: number, nowMs: number): Rate {
    const remaining = Math.max(0, limit - this.used(nowMs));
    const last = Math.max(...this.#seconds.keys());
    return { limit, remaining, resetMs: this.#seconds.size === 0 ? 0 : leavesAtMs(last) - nowMs };
  }

  /** Removes seconds that have expired or are far ahead. */
  #forget(nowMs: number): void {
    for (const second of this.#seconds.keys()) {
      if (!counts(second, nowMs)) this.#seconds.delete(second);
    }
  }
}

function counts(second: number, nowMs: number): boolean {
  return leavesAtMs(second) > nowMs && second * 1_000 <= nowMs + WINDOW_S * 1_000;
}

/** A second expires a minute after its last moment. */
export function leavesAtMs(second: number): number {
  return (second + 1 + WINDOW_S) * 1_000;
}
