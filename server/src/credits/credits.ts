import type { AccountId } from "../accounts/account.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { within } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import type { Allowance, CreditReserve, Hold } from "./allowance.ts";

/** How long an admission waits for credit that other nodes have set aside and do not need. */
const PATIENCE_MS = 2_500;
const PAUSE_MS = 250;
/** A database that takes longer is as good as away. */
const ANSWER_MS = 5_000;
/** Credit that an account has not used for so long goes back to where every node can have it. */
const IDLE_MS = 5_000;
/** Cut off from the database for so long, a node spends nothing more: its reservations may be given to others. */
export const SPENDABLE_MS = 9 * 60_000;
/** After so long they are. */
export const RESERVED_MS = 10 * 60_000;
const RENEW_MS = 30_000;

/** What a hold may be: the request at its dearest, and at the cheapest that still makes sense. */
export interface HoldRange {
  readonly leastNanoUsd: bigint;
  readonly mostNanoUsd: bigint;
}

export interface CreditsParts {
  readonly reserve: CreditReserve;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/**
 * The credit that this node may spend. It is set aside in the database before it is spent, some requests' worth at a
 * time: admission then asks nobody, and no failure of anything can overdraw an account.
 */
export class Credits {
  readonly #reserve: CreditReserve;
  readonly #monotonicMs: () => number;
  readonly #allowances = new Map<AccountId, Allowance>();
  #holds = 0;
  /** When the database last answered, and when it was last told that this node is there still. */
  #seenMs: number;
  #renewedMs: number;

  constructor({ reserve, monotonicMs }: CreditsParts) {
    this.#reserve = reserve;
    this.#monotonicMs = monotonicMs;
    this.#seenMs = monotonicMs();
    this.#renewedMs = this.#seenMs;
  }

  /** The same as {@link hold} for all that it may be, where this node has that set aside: mostly. `null` where it has not. */
  holdAtOnce(accountId: AccountId, { mostNanoUsd }: HoldRange): Hold | null {
    if (mostNanoUsd === 0n) return NOTHING_HELD;
    const allowance = this.#allowances.get(accountId);
    if (allowance === undefined || this.#freeOf(allowance) < mostNanoUsd) return null;
    allowance.usedMs = this.#monotonicMs();
    return this.#take(allowance, mostNanoUsd);
  }

  /**
   * Sets credit aside for a request: as much as it may cost at most, or less where there is less.
   *
   * @throws {Failure} `credit_balance_exhausted` when there is not even the least of it; `server_is_overloaded` when other
   *   nodes have it, for requests that are being answered.
   */
  async hold(accountId: AccountId, range: HoldRange): Promise<Hold> {
    if (range.mostNanoUsd === 0n) return NOTHING_HELD;
    const untilMs = this.#monotonicMs() + PATIENCE_MS;
    for (;;) {
      const allowance = this.#allowanceOf(accountId);
      if (this.#freeOf(allowance) >= range.mostNanoUsd) return this.#take(allowance, range.mostNanoUsd);
      // Who waits for an allowance keeps it from being forgotten.
      allowance.waiting++;
      const outcome = await this.#changing(allowance, () =>
        this.#refillAndTake(allowance, range, untilMs),
      ).finally(() => allowance.waiting--);
      if (outcome === "exhausted") throw exhausted();
      if (outcome === "elsewhere") throw inUseElsewhere();
      if (outcome !== "wait") return outcome;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /** To be told what has been charged in the database: it is not this node's to spend any more. */
  charged(charges: ReadonlyMap<AccountId, bigint>): void {
    for (const [accountId, amount] of charges) {
      const allowance = this.#allowances.get(accountId);
      if (allowance === undefined) continue;
      allowance.reserved -= amount;
      allowance.spent -= amount;
    }
  }

  /** What is held for requests that are being answered. */
  outstanding(): { readonly holds: number; readonly nanoUsd: bigint } {
    let nanoUsd = 0n;
    for (const { held } of this.#allowances.values()) nanoUsd += held;
    return { holds: this.#holds, nanoUsd };
  }

  /** Gives back what is idle or wanted elsewhere, and keeps the rest. To be called every second or so. */
  async tend(): Promise<void> {
    const askedMs = this.#monotonicMs();
    if (askedMs - this.#seenMs > SPENDABLE_MS) {
      // What was set aside may be other nodes' by now: nothing of it is counted on any more.
      this.#allowances.clear();
      await this.#reserve.clear();
    } else if (askedMs - this.#renewedMs > RENEW_MS) {
      await this.#reserve.renew();
      this.#renewedMs = askedMs;
    }
    const wanted = await this.#reserve.wanted();
    this.#seenMs = askedMs;
    for (const allowance of [...this.#allowances.values()]) {
      const isIdle = askedMs - allowance.usedMs > IDLE_MS;
      if (isIdle || allowance.isUncertain || wanted.has(allowance.accountId)) await this.#giveBack(allowance);
    }
  }

  #allowanceOf(accountId: AccountId): Allowance {
    const known = this.#allowances.get(accountId);
    if (known !== undefined) {
      known.usedMs = this.#monotonicMs();
      return known;
    }
    const fresh: Allowance = {
      accountId,
      reserved: 0n,
      held: 0n,
      spent: 0n,
      usedMs: this.#monotonicMs(),
      exhaustedMs: Number.NEGATIVE_INFINITY,
      isUncertain: false,
      waiting: 0,
      changing: Promise.resolve(),
    };
    this.#allowances.set(accountId, fresh);
    return fresh;
  }

  #freeOf({ reserved, held, spent }: Allowance): bigint {
    if (this.#monotonicMs() - this.#seenMs > SPENDABLE_MS) return 0n;
    return reserved - held - spent;
  }

  #take(allowance: Allowance, amount: bigint): Hold {
    allowance.held += amount;
    this.#holds++;
    let isSettled = false;
    return {
      amountNanoUsd: amount,
      settle: (cost) => {
        if (isSettled) return;
        isSettled = true;
        this.#holds--;
        allowance.held -= amount;
        allowance.spent += cost;
        allowance.usedMs = this.#monotonicMs();
      },
    };
  }

  /** Has more set aside when there is less free than is asked for, and holds what there is. */
  async #refillAndTake(
    allowance: Allowance,
    { leastNanoUsd, mostNanoUsd }: HoldRange,
    untilMs: number,
  ): Promise<Hold | "exhausted" | "elsewhere" | "wait"> {
    let elsewhere = 0n;
    const missing = mostNanoUsd - this.#freeOf(allowance);
    const isAsked = missing > 0n && this.#monotonicMs() - allowance.exhaustedMs > PAUSE_MS;
    if (isAsked) {
      const answer = await this.#surely(allowance, () => this.#reserve.take(allowance.accountId, missing));
      allowance.reserved += answer.taken;
      elsewhere = answer.elsewhere;
    }
    const free = this.#freeOf(allowance);
    if (free >= mostNanoUsd) return this.#take(allowance, mostNanoUsd);
    // Nodes that have set credit aside and do not need it give it back when they hear of this. Only what is certain to
    // be the account's last is spent on less than was asked for.
    if (elsewhere > 0n) return this.#monotonicMs() + PAUSE_MS < untilMs ? "wait" : "elsewhere";
    if (free >= leastNanoUsd && free > 0n) return this.#take(allowance, free);
    // Whoever has no credit and asks all the same does not keep the database busy with it.
    if (isAsked) allowance.exhaustedMs = this.#monotonicMs();
    return "exhausted";
  }

  async #giveBack(allowance: Allowance): Promise<void> {
    await this.#changing(allowance, async () => {
      if (allowance.isUncertain && isAtRest(allowance)) await this.#startAnew(allowance);
      const free = allowance.reserved - allowance.held - allowance.spent;
      if (free > 0n) {
        // First here: what is being given back must not be taken meanwhile.
        allowance.reserved -= free;
        await this.#surely(allowance, () => this.#reserve.giveBack(allowance.accountId, free));
      }
      const isEmpty = allowance.reserved === 0n && !allowance.isUncertain;
      if (isEmpty && isAtRest(allowance)) this.#allowances.delete(allowance.accountId);
    });
  }

  /** When the answer is lost, it can't be told what is set aside: less is counted on than there may be. */
  async #surely<Answer>(allowance: Allowance, change: () => Promise<Answer>): Promise<Answer> {
    try {
      return await within(ANSWER_MS, change);
    } catch (error) {
      allowance.isUncertain = true;
      throw error;
    }
  }

  /** With nothing held and nothing to be charged any more, what is left in the database is all to be given back. */
  async #startAnew(allowance: Allowance): Promise<void> {
    allowance.reserved = 0n;
    await this.#surely(allowance, () => this.#reserve.giveBackAll(allowance.accountId));
    allowance.isUncertain = false;
  }

  /** One change of an allowance with the database at a time: who waits finds what the one before has brought. */
  #changing<Result>(allowance: Allowance, change: () => Promise<Result>): Promise<Result> {
    const next = allowance.changing.then(change, change);
    allowance.changing = next.then(
      () => {},
      () => {},
    );
    return next;
  }
}

/** Whether nothing is held, nothing is to be charged any more, and nobody waits for it. */
function isAtRest({ held, spent, waiting }: Allowance): boolean {
  return held === 0n && spent === 0n && waiting === 0;
}

/** What entries charge to each account. */
export function chargesOf(entries: readonly AuditEntry[]): ReadonlyMap<AccountId, bigint> {
  const charges = new Map<AccountId, bigint>();
  for (const { accountId, costNanoUsd } of entries) {
    if (costNanoUsd > 0n) charges.set(accountId, (charges.get(accountId) ?? 0n) + costNanoUsd);
  }
  return charges;
}

const NOTHING_HELD: Hold = { amountNanoUsd: 0n, settle: () => {} };

function exhausted(): Failure {
  return new Failure(
    "credit_balance_exhausted",
    "The account's credit does not cover this request. Ask the operator of the service for credit, or ask for fewer tokens.",
  );
}

function inUseElsewhere(): Failure {
  return new Failure(
    "server_is_overloaded",
    "The account's credit is set aside for other requests that are being answered. Try again when they have ended.",
    { retryAfterMs: 1_000 },
  );
}
