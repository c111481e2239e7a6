import { resultWithin } from "../errors/deadline.ts";
import type { Allowance, Spender } from "./allowance.ts";

/** After this long without a request, credit beyond the usual extra is released: a large hold may have cost little. */
const SURPLUS_IDLE_MS = 5_000;
/** After this long all credit that is not held is released. Until then the account is served while the database is down. */
const IDLE_MS = 10 * 60_000;
/** How many releases of each kind run at once: few, because each uses a connection to the database, which requests need, too. */
const RECLAIMED_AT_ONCE = 2;
const IDLE_AT_ONCE = 2;
/** How many releases run at once when the node stops and no request needs a connection. */
const LAST_AT_ONCE = 4;
/** A round begins no release after this long, and ends. */
const ROUND_MS = 1_000;
/** The maximum number of reserves in which a round looks for idle ones. There may be 100,000, and requests wait meanwhile. */
const LOOKS_PER_ROUND = 1_000;

/** What a spender has reserved of an account's credit. */
interface Reserve {
  readonly spender: Spender;
  readonly allowance: Allowance;
}

/** A reserve that is to be released, except for what requests hold and for an amount to keep. */
export interface DueRelease extends Reserve {
  readonly keepNanoUsd: bigint;
}

/** Rounds of releases: how many may run at once, how many do, and the failure that no round has reported yet. */
interface Rounds {
  readonly atOnce: number;
  running: number;
  failure: { readonly error: unknown } | null;
}

interface ReleaseParts {
  /** The spenders of this node. */
  readonly spenders: () => Iterable<Spender>;
  readonly isCurrent: (spender: Spender) => boolean;
  readonly release: (due: DueRelease) => Promise<void>;
  readonly monotonicMs: () => number;
}

/**
 * Releases credit that this node has reserved and does not need, in rounds. Each round continues where the one before ended, so that
 * releases that fail do not prevent others. A release that takes longer than its round continues beside the next rounds, which run fewer
 * releases at once meanwhile. What other nodes need and what is idle have rounds of their own: requests wait for the former.
 */
export class CreditReleases {
  readonly #parts: ReleaseParts;
  readonly #reclaimed = new Map<Allowance, Reserve>();
  readonly #roundsOfReclaimed: Rounds = { atOnce: RECLAIMED_AT_ONCE, running: 0, failure: null };
  readonly #roundsOfIdle: Rounds = { atOnce: IDLE_AT_ONCE, running: 0, failure: null };
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

  /** A round of what other nodes need. @throws the error of a release that has failed since the round before. */
  releaseReclaimed(): Promise<void> {
    return this.#round(this.#roundsOfReclaimed, () => this.#nextReclaimed());
  }

  /** A round of what is idle. @throws the error of a release that has failed since the round before. */
  releaseIdle(): Promise<void> {
    this.#left ??= reservesOf(this.#parts.spenders());
    const search = { nowMs: this.#parts.monotonicMs(), looks: LOOKS_PER_ROUND };
    return this.#round(this.#roundsOfIdle, () => this.#nextIdle(search));
  }

  /** When the node stops: releases what requests do not hold and no charge needs, as much of it as a second allows. */
  releaseAll(): Promise<void> {
    const reserves = reservesOf(this.#parts.spenders());
    return this.#round({ atOnce: LAST_AT_ONCE, running: 0, failure: null }, () => {
      for (let next = reserves.next(); next.done !== true; next = reserves.next()) {
        if (exceeds(next.value.allowance, 0n)) return { ...next.value, keepNanoUsd: 0n };
      }
      return null;
    });
  }

  /** Begins releases for a second. It resolves when they have ended, or the second is over. */
  async #round(rounds: Rounds, next: () => DueRelease | null): Promise<void> {
    const endMs = this.#parts.monotonicMs() + ROUND_MS;
    const places = rounds.atOnce - rounds.running;
    const works = Array.from({ length: places }, () => this.#release(rounds, next, endMs));
    await resultWithin(ROUND_MS, Promise.all(works));
    const { failure } = rounds;
    rounds.failure = null;
    if (failure !== null) throw failure.error;
  }

  /** Ends with the first failure: while the database does not answer, few releases are tried. */
  async #release(rounds: Rounds, next: () => DueRelease | null, endMs: number): Promise<void> {
    rounds.running++;
    try {
      while (this.#parts.monotonicMs() < endMs) {
        const due = next();
        if (due === null) return;
        await this.#parts.release(due);
      }
    } catch (error) {
      rounds.failure ??= { error };
    } finally {
      rounds.running--;
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
