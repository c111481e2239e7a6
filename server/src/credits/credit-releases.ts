import type { Allowance, Spender } from "./allowance.ts";

/** After this long without a request, credit beyond the usual extra is released: a large hold may have cost little. */
export const SURPLUS_IDLE_MS = 5_000;
/** After this long all credit that is not held is released. Until then the account is served while the database is down. */
const IDLE_MS = 10 * 60_000;
/** Few, because each uses a connection to the database, which requests need, too. */
const RECLAIMED_AT_ONCE = 2;
const IDLE_AT_ONCE = 2;
/** A round begins no release after this long. */
const ROUND_MS = 1_000;
/** A round looks at so many reserves for idle ones. There may be 100,000, and requests wait meanwhile. */
const LOOKS_PER_ROUND = 1_000;

/** What a spender has reserved of an account's credit. */
export interface Reserve {
  readonly spender: Spender;
  readonly allowance: Allowance;
}

/** A reserve of which all is released that requests do not hold, except for an amount. */
export interface DueRelease extends Reserve {
  readonly keepNanoUsd: bigint;
}

export interface ReleaseParts {
  /** The spenders of this node. */
  readonly spenders: () => Iterable<Spender>;
  readonly isCurrent: (spender: Spender) => boolean;
  readonly release: (due: DueRelease) => Promise<void>;
  readonly monotonicMs: () => number;
}

/**
 * Releases credit that this node has reserved and does not need, in rounds. Each round continues where the one before ended, so that
 * releases that fail, or take long, do not prevent others. What other nodes need and what is idle have rounds of their own: requests wait for
 * the former.
 */
export class CreditReleases {
  readonly #parts: ReleaseParts;
  readonly #reclaimed = new Map<Allowance, Reserve>();
  /** The reserves that are still to be looked at; `null` after the last one. */
  #left: Iterator<Reserve> | null = null;

  constructor(parts: ReleaseParts) {
    this.#parts = parts;
  }

  /** Sets the reserves that other nodes need. Those that were tried before come last. */
  reclaim(reserves: readonly Reserve[]): void {
    const wanted = new Map(reserves.map((reserve) => [reserve.allowance, reserve]));
    for (const allowance of this.#reclaimed.keys()) {
      if (!wanted.has(allowance)) this.#reclaimed.delete(allowance);
    }
    for (const [allowance, reserve] of wanted) this.#reclaimed.set(allowance, reserve);
  }

  /** A round of what other nodes need. @throws the error of a release that failed. */
  releaseReclaimed(): Promise<void> {
    return this.#round(RECLAIMED_AT_ONCE, () => this.#nextReclaimed());
  }

  /** A round of what is idle. @throws the error of a release that failed. */
  releaseIdle(): Promise<void> {
    this.#left ??= reservesOf(this.#parts.spenders());
    const search = { nowMs: this.#parts.monotonicMs(), looks: LOOKS_PER_ROUND };
    return this.#round(IDLE_AT_ONCE, () => this.#nextIdle(search));
  }

  /** Begins releases for a second, and resolves when they have ended. */
  async #round(atOnce: number, next: () => DueRelease | null): Promise<void> {
    const endMs = this.#parts.monotonicMs() + ROUND_MS;
    const works = Array.from({ length: atOnce }, () => this.#release(next, endMs));
    const failed = (await Promise.allSettled(works)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  /** Ends with the first failure: while the database does not answer, few releases are tried. */
  async #release(next: () => DueRelease | null, endMs: number): Promise<void> {
    while (this.#parts.monotonicMs() < endMs) {
      const due = next();
      if (due === null) return;
      await this.#parts.release(due);
    }
  }

  #nextReclaimed(): DueRelease | null {
    for (const [allowance, reserve] of this.#reclaimed) {
      this.#reclaimed.delete(allowance);
      if (exceeds(allowance, 0n)) return { ...reserve, keepNanoUsd: 0n };
    }
    return null;
  }

  /** The next reserve to release, if it is among the `looks` that are left to the round. */
  #nextIdle(search: { readonly nowMs: number; looks: number }): DueRelease | null {
    while (search.looks > 0) {
      search.looks--;
      const next = this.#left?.next();
      if (next === undefined || next.done === true) {
        this.#left = null;
        return null;
      }
      const keepNanoUsd = this.#keptOf(next.value, search.nowMs);
      if (exceeds(next.value.allowance, keepNanoUsd)) return { ...next.value, keepNanoUsd };
    }
    return null;
  }

  /** What stays reserved of what requests do not hold. */
  #keptOf({ spender, allowance }: Reserve, nowMs: number): bigint {
    const idleMs = nowMs - allowance.usedMs;
    if (idleMs > IDLE_MS || !this.#parts.isCurrent(spender)) return 0n;
    return idleMs > SURPLUS_IDLE_MS || allowance.isUncertain ? allowance.usualExtra : allowance.free;
  }
}

function exceeds({ asking, free, isUncertain }: Allowance, keptNanoUsd: bigint): boolean {
  return asking === null && (free > keptNanoUsd || isUncertain);
}

function* reservesOf(spenders: Iterable<Spender>): Generator<Reserve> {
  for (const spender of spenders) {
    for (const allowance of spender.allowances.values()) yield { spender, allowance };
  }
}
