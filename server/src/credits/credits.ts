import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";
import type { AccountId } from "../contract/account.ts";
import type { AuditEntry } from "../contract/entry.ts";
import type { SpenderId } from "../contract/ids.ts";
import { withAnswerTimeout, withTimeout } from "../errors/deadline.ts";
import {
  Allowance,
  type AskOutcome,
  type Hold,
  type HoldRange,
  isDrained,
  type Spender,
} from "./allowance.ts";
import { CreditAsks, RECLAIM_PAUSE_MS, type WaitingRequest } from "./credit-asks.ts";
import {
  databaseUnavailable,
  exhausted,
  reservedByAbsentNode,
  reservedElsewhere,
} from "./credit-failures.ts";
import { CreditReleases } from "./credit-releases.ts";
import { CLOSE_TIMEOUT_MS, type CreditStore, SpenderGone } from "./credit-store.ts";

/** How long a request waits for credit that other nodes have reserved and do not need. */
const RECLAIM_TIMEOUT_MS = 2_500;
/** A spender is replaced at this age, or with this many accounts, so that unused rows are deleted. */
const MAX_SPENDER_AGE_MS = DAY_MS;
const MAX_SPENDER_ACCOUNTS = 100_000;

const NOTHING_HELD: Hold = { amountNanoUsd: 0n, spender: null, settle: () => {} };

interface CreditsParts {
  readonly store: CreditStore;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  /** Milliseconds of a clock that also counts the time for which the machine was suspended. It jumps when the wall clock is set ahead. */
  readonly passedMs: () => number;
  /**
   * After this long without the database this node holds no more credit, because its reserves may have been released.
   * `null`: reserves are never released by time.
   */
  readonly maxDisconnectedMs: number | null;
  /** Whether the database lacks entries of earlier starts of this node. Their spenders stay open while it does. */
  readonly owesEntries: () => boolean;
}

/**
 * The credit that this node may spend. The node reserves it in the database for several requests at a time, so that most
 * requests need no statement. docs/explanation/credit.md describes the protocol and why no failure can overdraw an account.
 */
export class Credits {
  readonly #parts: CreditsParts;
  /** The current spender, and replaced ones that requests or entries still name. */
  readonly #spenders = new Map<SpenderId, Spender>();
  #current: Spender | null = null;
  #opening: Promise<void> | null = null;
  /** Whether {@link stop} was called. Then no further spender is opened, because it would never be closed. */
  #isStopped = false;
  readonly #asks: CreditAsks;
  readonly #releases: CreditReleases;
  /** Resolves with whether the database has answered the last heartbeat. */
  #heartbeat: Promise<boolean> = Promise.resolve(false);
  /** When the database was last asked for a heartbeat that it answered, by `passedMs`: others release reserves of a suspended node, too. */
  #seenMs: number;
  /** Whether spenders older than the current one may be open, such as those of earlier starts. */
  #hasOlder = true;

  constructor(parts: CreditsParts) {
    const { store, monotonicMs, passedMs } = parts;
    this.#parts = parts;
    this.#seenMs = passedMs();
    this.#asks = new CreditAsks({ store, monotonicMs, onGone: (id) => this.#forget(id) });
    this.#releases = new CreditReleases({
      spenders: () => this.#spenders.values(),
      isCurrent: (spender) => spender === this.#current,
      release: (due) => this.#asks.release(due),
      monotonicMs,
    });
  }

  /** Opens the spender of this start. Call it before the journal of earlier starts is replayed. Rejects without the database. */
  async open(): Promise<SpenderId> {
    return (await this.#requireSpender()).id;
  }

  /** The spender that new requests hold credit of; `null` while this node has none. */
  get spender(): SpenderId | null {
    return this.#current?.id ?? null;
  }

  /** Holds the maximum of the range if this node has reserved that much, which is the usual case; otherwise returns `null`. */
  holdAtOnce(accountId: AccountId, { maxNanoUsd }: HoldRange): Hold | null {
    if (maxNanoUsd === 0n) return NOTHING_HELD;
    const spender = this.#current;
    const allowance = spender?.allowances.get(accountId);
    if (spender === null || allowance === undefined || allowance.free < maxNanoUsd || this.#isDisconnected())
      return null;
    const hold = this.#holdFrom(spender, allowance, maxNanoUsd);
    // The node reserves more before it needs it, so that the next requests do not wait.
    if (allowance.extra > 0n && allowance.free < allowance.extra / 2n)
      this.#asks.askAhead(spender, allowance);
    return hold;
  }

  /**
   * Holds credit for a request: its maximum cost, or what is left of the account if that is less.
   *
   * @throws {Failure} `credit_balance_exhausted` if less than the minimum of the range is left, whatever other nodes release;
   *   `server_is_overloaded` if the database does not answer, or if other nodes have reserved credit that may pay for the request.
   */
  async hold(accountId: AccountId, range: HoldRange): Promise<Hold> {
    const { maxNanoUsd } = range;
    if (maxNanoUsd === 0n) return NOTHING_HELD;
    const beganMs = this.#parts.monotonicMs();
    const request: WaitingRequest = {
      needNanoUsd: maxNanoUsd,
      beganMs,
      lastAsks: new Map(),
      countedIn: null,
    };
    try {
      for (;;) {
        const spender = await this.#requireSpender();
        const allowance = this.#allowanceOf(spender, accountId);
        if (allowance.free >= maxNanoUsd) return this.#holdFrom(spender, allowance, maxNanoUsd);
        const outcome = await this.#outcomeFor(request, spender, allowance);
        if (outcome === null) continue;
        const { free } = allowance;
        if (free >= maxNanoUsd) return this.#holdFrom(spender, allowance, maxNanoUsd);
        // An ask that was sent before this request came did not include it.
        if (!outcome.isShort) continue;
        if (!this.#mayBeReclaimed(range, free, outcome, beganMs))
          return this.#holdFrom(spender, allowance, free);
        this.#asks.leave(request);
        await new Promise((resolve) => setTimeout(resolve, RECLAIM_PAUSE_MS));
      }
    } finally {
      this.#asks.leave(request);
    }
  }

  /** The outcome of an ask for a request. `null`: it says nothing about the request, or the spender was closed, so the request tries again. */
  async #outcomeFor(
    request: WaitingRequest,
    spender: Spender,
    allowance: Allowance,
  ): Promise<AskOutcome | null> {
    try {
      const outcome = await this.#asks.answerFor(spender, allowance, request);
      return spender === this.#current ? outcome : null;
    } catch (error) {
      if (error instanceof SpenderGone) return null;
      throw error;
    }
  }

  /**
   * Whether a request for which the account is short waits for credit that other nodes have reserved and may release. If not, it gets what is
   * free.
   *
   * @throws {Failure} as {@link hold}, if the request can't be paid for or has waited for too long.
   */
  #mayBeReclaimed(
    range: HoldRange,
    free: bigint,
    { elsewhereNanoUsd, stuckNanoUsd, leastSeen }: AskOutcome,
    beganMs: number,
  ): boolean {
    // Whatever becomes of the reserves of others, they hold no more than this.
    const mayBecomeFree = free + elsewhereNanoUsd;
    if (!pays(range, mayBecomeFree + stuckNanoUsd)) throw exhausted();
    if (!pays(range, mayBecomeFree)) throw reservedByAbsentNode(leastSeen);
    if (elsewhereNanoUsd === 0n) return false;
    // Nodes release what they do not need within a second, unless the database is slow to answer them. A request is answered in part
    // only if the account has no more.
    const waitedMs = this.#parts.monotonicMs() - beganMs;
    if (waitedMs + RECLAIM_PAUSE_MS > RECLAIM_TIMEOUT_MS) throw reservedElsewhere(leastSeen);
    return true;
  }

  /** Forgets that the account had too little, so that its next requests ask again. Call it when the account was granted credit. */
  forgetShortage(accountId: AccountId): void {
    for (const { allowances } of this.#spenders.values()) {
      const allowance = allowances.get(accountId);
      if (allowance === undefined) continue;
      allowance.short = null;
      allowance.shortAsksMs = 0;
    }
  }

  /**
   * Takes note of entries that are in the database, or rejected where `owesEntries` counts them: their spender can be
   * closed without them.
   */
  committed(entries: readonly Pick<AuditEntry, "spender">[]): void {
    for (const { spender: id } of entries) {
      const spender = id === undefined ? undefined : this.#spenders.get(id);
      if (spender !== undefined) spender.uncommitted--;
    }
  }

  /** The holds of requests that are being answered. */
  outstanding(): {
    /** The number of requests with a hold. */
    readonly holds: number;
    /** The sum of the holds in nano-USD. */
    readonly nanoUsd: bigint;
  } {
    let holds = 0;
    let nanoUsd = 0n;
    for (const spender of this.#spenders.values()) {
      holds += spender.holds;
      for (const { held } of spender.allowances.values()) nanoUsd += held;
    }
    return { holds, nanoUsd };
  }

  /**
   * Sends the heartbeat, and opens a spender if this node has none or an old one. Call it every second, whatever
   * {@link releaseReclaimed}, {@link releaseIdle} and {@link closeDrained} wait for. Rejects when the database does not answer.
   */
  renew(): Promise<void> {
    const renewed = this.#renew();
    this.#heartbeat = renewed.then(
      () => true,
      () => false,
    );
    return renewed;
  }

  /**
   * Releases credit that other nodes reclaim, if the database answers the heartbeat under way or the last one. Call it every second after
   * {@link renew}, whatever {@link releaseIdle} waits for: requests on other nodes wait for this credit. Calls must not overlap.
   */
  async releaseReclaimed(): Promise<void> {
    if (await this.#heartbeat) await this.#releases.releaseReclaimed();
  }

  /** Releases idle credit under the same condition. Call it every second. Calls must not overlap. */
  async releaseIdle(): Promise<void> {
    if (await this.#heartbeat) await this.#releases.releaseIdle();
  }

  /** As {@link closeOlder}, once the charges of replaced spenders are in the database, too. Call it every second. */
  async closeDrained(): Promise<void> {
    const replaced = [...this.#spenders.values()].filter((spender) => spender !== this.#current);
    if (this.#hasOlder && replaced.every(isDrained)) await this.closeOlder();
  }

  /**
   * Closes the spenders of earlier starts and replaced ones, unless this node owes entries or an account is locked in the database. Call it when all
   * their charges are in the database.
   */
  async closeOlder(): Promise<void> {
    const current = this.#current;
    if (current === null || this.#parts.owesEntries()) return;
    const areClosed = await withTimeout(CLOSE_TIMEOUT_MS, () => this.#parts.store.closeBelow(current.id));
    if (!areClosed || this.#current !== current) return;
    this.#hasOlder = false;
    for (const id of this.#spenders.keys()) if (id !== current.id) this.#spenders.delete(id);
  }

  /**
   * Closes the spender of this start, so that nothing stays reserved, if all its charges are in the database. While the node owes entries of
   * earlier starts or of this one, only what their charges may need stays reserved. Call it when the last request has ended.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#opening?.catch(() => {});
    const all = [...this.#spenders.values()];
    const last = all.reduce<SpenderId | null>((max, { id }) => (max === null || id > max ? id : max), null);
    if (last === null || !all.every(isDrained)) return;
    if (this.#parts.owesEntries()) return await this.#releases.releaseAll();
    this.#current = null;
    this.#spenders.clear();
    await this.#withTimeout(() => this.#parts.store.closeBelow((last + 1n) as SpenderId));
  }

  async #renew(): Promise<void> {
    const { store, monotonicMs, passedMs } = this.#parts;
    const askedMs = passedMs();
    const { gone, reclaimed } = await this.#withTimeout(() => store.heartbeat([...this.#spenders.keys()]));
    this.#seenMs = askedMs;
    for (const id of gone) this.#forget(id);
    this.#releases.reclaim(
      reclaimed.flatMap(({ accountId, spender: id }) => {
        const spender = this.#spenders.get(id);
        const allowance = spender?.allowances.get(accountId);
        return spender === undefined || allowance === undefined ? [] : [{ spender, allowance }];
      }),
    );
    if (this.#current === null || isDueForReplacement(this.#current, monotonicMs())) await this.#open();
  }

  #isDisconnected(): boolean {
    const { maxDisconnectedMs, passedMs } = this.#parts;
    return maxDisconnectedMs !== null && passedMs() - this.#seenMs > maxDisconnectedMs;
  }

  async #requireSpender(): Promise<Spender> {
    if (this.#isDisconnected()) throw databaseUnavailable();
    if (this.#current === null) await this.#open();
    if (this.#current === null) throw databaseUnavailable();
    return this.#current;
  }

  /** Concurrent callers share one new spender. */
  #open(): Promise<void> {
    this.#opening ??= this.#openNext().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #openNext(): Promise<void> {
    if (this.#isStopped) return;
    const id = await this.#withTimeout(() => this.#parts.store.open());
    const former = this.#current;
    // A late answer must not replace a newer spender.
    if (former !== null && former.id >= id) return;
    this.#hasOlder = true;
    const openedMs = this.#parts.monotonicMs();
    this.#current = { id, openedMs, allowances: new Map(), holds: 0, uncommitted: 0 };
    this.#spenders.set(id, this.#current);
  }

  /** Drops a spender that the database has closed. Requests with holds of it still settle against it. */
  #forget(id: SpenderId): void {
    if (this.#current?.id === id) this.#current = null;
    this.#spenders.delete(id);
  }

  #allowanceOf(spender: Spender, accountId: AccountId): Allowance {
    const known = spender.allowances.get(accountId);
    if (known !== undefined) return known;
    const fresh = new Allowance(accountId, this.#parts.monotonicMs());
    spender.allowances.set(accountId, fresh);
    return fresh;
  }

  #holdFrom(spender: Spender, allowance: Allowance, amount: bigint): Hold {
    allowance.held += amount;
    allowance.usedMs = this.#parts.monotonicMs();
    spender.holds++;
    let isSettled = false;
    return {
      amountNanoUsd: amount,
      spender: spender.id,
      settle: (cost) => {
        if (isSettled) return;
        isSettled = true;
        spender.holds--;
        allowance.held -= amount;
        allowance.settled += cost;
        allowance.usedMs = this.#parts.monotonicMs();
        if (cost > 0n) spender.uncommitted++;
      },
    };
  }

  #withTimeout<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    return withAnswerTimeout(question);
  }
}

/** Whether an amount pays for a useful answer to a request. */
function pays({ minNanoUsd }: HoldRange, amount: bigint): boolean {
  return amount >= minNanoUsd && amount > 0n;
}

function isDueForReplacement({ openedMs, allowances }: Spender, nowMs: number): boolean {
  return nowMs - openedMs > MAX_SPENDER_AGE_MS || allowances.size > MAX_SPENDER_ACCOUNTS;
}
