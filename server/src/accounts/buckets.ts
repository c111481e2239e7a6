import { LRUCache } from "lru-cache";
import { MINUTE_MS } from "../../../sdk/src/contract/time-units.ts";
import { atMost } from "../resources/at-most.ts";

/** The maximum number of buckets. Attackers can choose names, so beyond it the least recently used buckets are dropped. */
const MAX_NAMES = 100_000;

interface Bucket {
  readonly left: number;
  readonly atMs: number;
}

/** Token buckets by name. Each is full at first and refills within a minute. */
export class Buckets {
  readonly perMinute: number;
  readonly #monotonicMs: () => number;
  readonly #buckets = new LRUCache<string, Bucket>(atMost(MAX_NAMES));

  constructor(perMinute: number, monotonicMs: () => number) {
    this.perMinute = perMinute;
    this.#monotonicMs = monotonicMs;
  }

  /** Takes all calls or none. @returns 0 on success; otherwise the milliseconds until a retry succeeds. */
  take(name: string, calls: number): number {
    const atMs = this.#monotonicMs();
    const before = this.#buckets.get(name) ?? { left: this.perMinute, atMs };
    const perMs = this.perMinute / MINUTE_MS;
    const left = Math.min(this.perMinute, before.left + (atMs - before.atMs) * perMs);
    // A demand above the capacity succeeds with a full bucket and empties it.
    const missing = Math.min(calls, this.perMinute) - left;
    if (missing > 0) {
      this.#buckets.set(name, { left, atMs });
      return Math.ceil(missing / perMs);
    }
    this.#buckets.set(name, { left: Math.max(0, left - calls), atMs });
    return 0;
  }

  /** Gives back what {@link take} has taken. */
  give(name: string, calls: number): void {
    const bucket = this.#buckets.get(name);
    if (bucket !== undefined)
      this.#buckets.set(name, { ...bucket, left: Math.min(this.perMinute, bucket.left + calls) });
  }
}
