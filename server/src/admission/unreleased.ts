import type { AccountId } from "../contract/account.ts";
import type { Release } from "../contract/limits.ts";
import type { AdmissionStore } from "./admission-store.ts";

/** Beyond this number the oldest are dropped. Their slots expire with their leases, as those of a crashed node do. */
const MAX_UNRELEASED = 20_000;
/**
 * A command in transit when its connection was closed may arrive for as long as TCP retransmits, about a quarter of an hour. An
 * admission that arrives then takes a slot for the length of its lease, unless the store knows that the request has ended.
 */
const ARRIVES_WITHIN_MS = 15 * 60_000;
const RELEASED_AT_ONCE = 100;

interface Unreleased {
  readonly accountId: AccountId;
  readonly release: Release;
  /** The time after which no command for the slot can still arrive. */
  readonly lapsesMs: number;
}

/** Releases that the store has not confirmed. Without them, requests that have ended would count against the limits. */
export class UnreleasedSlots {
  readonly #store: Pick<AdmissionStore, "release">;
  readonly #monotonicMs: () => number;
  /** In order of expiry. */
  readonly #waiting = new Set<Unreleased>();

  constructor(store: Pick<AdmissionStore, "release">, monotonicMs: () => number) {
    this.#store = store;
    this.#monotonicMs = monotonicMs;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(accountId: AccountId, release: Release): void {
    const [oldest] = this.#waiting;
    if (oldest !== undefined && this.#waiting.size >= MAX_UNRELEASED) this.#waiting.delete(oldest);
    this.#waiting.add({ accountId, release, lapsesMs: this.#monotonicMs() + ARRIVES_WITHIN_MS });
  }

  /** Repeats the releases until one fails. Calls must not overlap. */
  async retry(): Promise<void> {
    const nowMs = this.#monotonicMs();
    for (const waiting of this.#waiting) {
      if (waiting.lapsesMs > nowMs) break;
      this.#waiting.delete(waiting);
    }
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, RELEASED_AT_ONCE);
      const outcomes = await Promise.allSettled(
        batch.map(({ accountId, release }) => this.#store.release(accountId, release)),
      );
      for (const [index, waiting] of batch.entries()) {
        if (outcomes[index]?.status === "fulfilled") this.#waiting.delete(waiting);
      }
      // The store is unavailable, so the other releases would fail too.
      if (outcomes.some(({ status }) => status === "rejected")) return;
    }
  }
}
