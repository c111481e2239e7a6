import { randomBytes, randomInt } from "node:crypto";
import type { EntryId } from "../contract/entry.ts";

/** The numbers of random digits of an id: 3 of its fourth group, after the variant, and the 12 of its last group. */
const GROUPS = [3, 12] as const;
const RANDOM_LENGTH = GROUPS[0] + GROUPS[1];
/** The number of ids for which random bytes are fetched at once, which is many times cheaper than for each. It is even, because an id takes 7.5 bytes. */
const IDS_AT_ONCE = 256;
/** The counter's values, by the digits that an id has for them. */
const COUNTERS = Array.from({ length: 4_096 }, (_, value) => value.toString(16).padStart(3, "0"));

/**
 * Generates ids of requests: UUIDv7 (RFC 9562), ascending within this process, also when the clock is set back. `nowMs` returns whole
 * milliseconds since 1970. The package that makes the service's other ids takes six times as long.
 */
export class EntryIds {
  readonly #nowMs: () => number;
  #random = "";
  #used = 0;
  #ms = Number.NEGATIVE_INFINITY;
  /** The first two groups of the id, which are the time. */
  #time = "";
  /** Starts at a random value of its lower half in each millisecond (RFC 9562, section 6.2, method 1). */
  #counter = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  next(): EntryId {
    const now = this.#nowMs();
    if (now > this.#ms) this.#begin(now);
    else if (++this.#counter === COUNTERS.length) this.#begin(this.#ms + 1);
    if (this.#used === this.#random.length) this.#fetchRandom();
    const start = this.#used;
    const middle = start + GROUPS[0];
    this.#used += RANDOM_LENGTH;
    const [fourth, last] = [this.#random.slice(start, middle), this.#random.slice(middle, this.#used)];
    return `${this.#time}-7${COUNTERS[this.#counter]}-8${fourth}-${last}` as EntryId;
  }

  #begin(ms: number): void {
    this.#ms = ms;
    const digits = ms.toString(16).padStart(12, "0");
    this.#time = `${digits.slice(0, 8)}-${digits.slice(8)}`;
    this.#counter = randomInt(COUNTERS.length / 2);
  }

  #fetchRandom(): void {
    this.#random = randomBytes((RANDOM_LENGTH * IDS_AT_ONCE) / 2).toString("hex");
    this.#used = 0;
  }
}
