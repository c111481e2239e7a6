import type { AccountId } from "../contract/account.ts";
import type { AuditEntry } from "../contract/entry.ts";
import type { SpenderId } from "../contract/ids.ts";
import { ANSWER_TIMEOUT_MS, withTimeout } from "../errors/deadline.ts";
import {
  Allowance,
  type AskOutcome,
  type Hold,
  type HoldRange,
  isDrained,
  type Spender,
} from "./allowance.ts";
import {
  databaseUnavailable,
  exhausted,
  reservedByAbsentNode,
  reservedElsewhere,
} from "./credit-failures.ts";
import { type CreditStore, SpenderGone } from "./credit-store.ts";

/** Closing a spender takes longer the more accounts it has. */
export const CLOSE_TIMEOUT_MS = 60_000;
/** After a failed ask, requests of the account fail at once for this long. Then one of them asks again. */
const RETRY_AFTER_FAILURE_MS = 1_000;
/** How long a request waits for credit that other nodes have reserved and do not need. */
const RECLAIM_TIMEOUT_MS = 2_500;
const RECLAIM_PAUSE_MS = 250;
/** Requests of an account without enough credit ask for it this often, and this many times at once after a pause. */
const SHORT_ASKS = { everyMs: 250, atOnce: 4 };
/** The maximum asked for beyond what is needed: 1 USD. The database grants at most a tenth of the free credit. */
const EXTRA_NANO_USD = 1_000_000_000n;
/** After this long without a request, credit beyond the usual extra is released: a large hold may have cost little. */
const SURPLUS_IDLE_MS = 5_000;
/** After this long all credit that is not held is released. Until then the account is served while the database is down. */
const IDLE_MS = 10 * 60_000;
/** A spender is replaced at this age, or with this many accounts, so that unused rows are deleted. */
const MAX_SPENDER_AGE_MS = 24 * 60 * 60_000;
const MAX_SPENDER_ACCOUNTS = 100_000;

export interface CreditsParts {
  readonly store: CreditStore;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  /**
   * After this long without the database this node holds no more credit, because its reserves may have been released.
   * `null`: reserves are never released by time.
   */
  readonly maxDisconnectedMs: number | null;
  /** Whether the database lacks entries of earlier lives of this node. Their spenders stay open while it does. */
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
  /** When the database last answered a heartbeat. */
  #seenMs: number;
  /** Whether spenders older than the current one may be open, such as those of earlier lives. */
  #hasOlder = true;

  constructor(parts: CreditsParts) {
    this.#parts = parts;
    this.#seenMs = parts.monotonicMs();
  }

  /** Opens this life's spender. Call it at start, before the journal of earlier lives is replayed. Rejects without the database. */
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
    if (allowance.extra > 0n && allowance.free < allowance.extra / 2n && this.#mayAsk(allowance)) {
      this.#ask(spender, allowance).catch(() => {});
    }
    return hold;
  }

  /**
   * Holds credit for a request: its maximum cost, or what is left of the account if that is less.
   *
   * @throws {Failure} `credit_balance_exhausted` if less than the minimum of the range is left; `server_is_overloaded` if the
   *   database does not answer, or if other nodes have reserved the credit.
   */
  async hold(accountId: AccountId, range: HoldRange): Promise<Hold> {
    const { maxNanoUsd } = range;
    if (maxNanoUsd === 0n) return NOTHING_HELD;
    const beganMs = this.#parts.monotonicMs();
    const request: WaitingRequest = { needNanoUsd: maxNanoUsd, beganMs, lastAsks: new Map() };
    for (;;) {
      const spender = await this.#requireSpender();
      const allowance = this.#allowanceOf(spender, accountId);
      if (allowance.free >= maxNanoUsd) return this.#holdFrom(spender, allowance, maxNanoUsd);
      let outcome: AskOutcome | null;
      try {
        outcome = await this.#answerFor(spender, allowance, request);
      } catch (error) {
        // The loop continues with the spender that replaces it.
        if (error instanceof SpenderGone) continue;
        throw error;
      }
      if (outcome === null || spender !== this.#current) continue;
      const free = allowance.free;
      if (free >= maxNanoUsd) return this.#holdFrom(spender, allowance, maxNanoUsd);
      // An ask that was sent before this request came did not include it.
      if (!outcome.isShort) continue;
      if (outcome.elsewhereNanoUsd > 0n) {
        // Nodes release what they do not need within a second. A request is answered in part only if the account has no more.
        const waitedMs = this.#parts.monotonicMs() - beganMs;
        if (waitedMs + RECLAIM_PAUSE_MS > RECLAIM_TIMEOUT_MS) throw reservedElsewhere();
        await new Promise((resolve) => setTimeout(resolve, RECLAIM_PAUSE_MS));
        continue;
      }
      if (free >= range.minNanoUsd && free > 0n) return this.#holdFrom(spender, allowance, free);
      throw outcome.stuckNanoUsd > 0n ? reservedByAbsentNode() : exhausted();
    }
  }

  /** Forgets that the account had too little, because it has been granted credit: its next requests ask again. */
  granted(accountId: AccountId): void {
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
   * Sends the heartbeat, releases credit that is idle or that other nodes reclaim, and closes old spenders. Call it every
   * second. Rejects when the database does not answer.
   */
  async maintain(): Promise<void> {
    const { store, monotonicMs } = this.#parts;
    const askedMs = monotonicMs();
    const { gone, reclaimed } = await this.#withTimeout(() => store.heartbeat([...this.#spenders.keys()]));
    this.#seenMs = askedMs;
    for (const id of gone) this.#forget(id);
    if (this.#current === null || isDueForReplacement(this.#current, askedMs)) await this.#open();
    for (const { accountId, spender: id } of reclaimed) {
      const spender = this.#spenders.get(id);
      const allowance = spender?.allowances.get(accountId);
      if (spender !== undefined && allowance !== undefined) await this.#releaseUnheld(spender, allowance, 0n);
    }
    await this.#releaseIdle(askedMs);
    await this.#closeOlder();
  }

  /**
   * Closes this life's spender, so that nothing stays reserved, if all its charges are in the database. Call it when the
   * last request has ended.
   */
  async stop(): Promise<void> {
    const all = [...this.#spenders.values()];
    const last = all.reduce<SpenderId | null>((max, { id }) => (max === null || id > max ? id : max), null);
    if (last === null || !all.every(isDrained) || this.#parts.owesEntries()) return;
    this.#current = null;
    this.#spenders.clear();
    await this.#withTimeout(() => this.#parts.store.closeBelow((last + 1n) as SpenderId));
  }

  #isDisconnected(): boolean {
    const { maxDisconnectedMs, monotonicMs } = this.#parts;
    return maxDisconnectedMs !== null && monotonicMs() - this.#seenMs > maxDisconnectedMs;
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

  /**
   * The outcome of an ask for a request: of a new ask, of one in flight, or of a recent one. `null` if the account had too little at an ask
   * that was sent before the request came: it may have been granted credit since.
   */
  async #answerFor(
    spender: Spender,
    allowance: Allowance,
    { needNanoUsd, beganMs, lastAsks }: WaitingRequest,
  ): Promise<AskOutcome | null> {
    const lastAsk = lastAsks.get(allowance) ?? allowance.number;
    lastAsks.set(allowance, lastAsk);
    const { short, failed } = allowance;
    const nowMs = this.#parts.monotonicMs();
    if (allowance.asking === null) {
      // A database that is down must not delay all requests, and those of an account without credit must not load it.
      if (failed !== null && nowMs - failed.atMs < RETRY_AFTER_FAILURE_MS) throw failed.error;
      if (short !== null) {
        const isTooSoon = allowance.shortAsksMs - nowMs > (SHORT_ASKS.atOnce - 1) * SHORT_ASKS.everyMs;
        const mayUseAnswer = short.outcome.number > lastAsk || isTooSoon;
        if (mayUseAnswer && nowMs - short.atMs < RECLAIM_PAUSE_MS) return short.outcome;
      }
    }
    allowance.demand += needNanoUsd;
    try {
      const asking = allowance.asking ?? this.#ask(spender, allowance);
      // A request that joins several asks in turn waits no longer than for one.
      const outcome = await withTimeout(Math.max(0, beganMs + ANSWER_TIMEOUT_MS - nowMs), () => asking);
      return outcome.isShort && outcome.number <= lastAsk ? null : outcome;
    } finally {
      allowance.demand -= needNanoUsd;
    }
  }

  #mayAsk({ asking, short, failed }: Allowance): boolean {
    const nowMs = this.#parts.monotonicMs();
    return (
      asking === null &&
      (failed === null || nowMs - failed.atMs >= RETRY_AFTER_FAILURE_MS) &&
      (short === null || nowMs - short.atMs >= SURPLUS_IDLE_MS)
    );
  }

  /**
   * Asks for what is held and needed, and some more. One ask of an account is in flight at a time. The target includes what
   * is granted already, because requests hold credit of it meanwhile.
   */
  #ask(spender: Spender, allowance: Allowance): Promise<AskOutcome> {
    const missing = allowance.demand - allowance.free;
    const target = missing > 0n ? allowance.granted + missing : allowance.granted;
    return this.#askFor(spender, allowance, target, EXTRA_NANO_USD);
  }

  /** Releases what is neither held nor to be kept. */
  async #releaseUnheld(spender: Spender, allowance: Allowance, keepNanoUsd: bigint): Promise<void> {
    if (allowance.asking !== null) return;
    if (allowance.free <= keepNanoUsd && !allowance.isUncertain) return;
    await this.#askFor(spender, allowance, allowance.promised + keepNanoUsd, 0n).catch((error: unknown) => {
      if (!(error instanceof SpenderGone)) throw error;
    });
  }

  #askFor(
    spender: Spender,
    allowance: Allowance,
    targetNanoUsd: bigint,
    extraNanoUsd: bigint,
  ): Promise<AskOutcome> {
    const { accountId } = allowance;
    const number = ++allowance.number;
    // The count is lowered before the ask is sent: what is being released must not be held.
    if (targetNanoUsd < allowance.granted) allowance.granted = targetNanoUsd;
    const asking = this.#withTimeout(() =>
      this.#parts.store.ask({ accountId, spender: spender.id, number, targetNanoUsd, extraNanoUsd }),
    )
      .then(
        (answer) => {
          const isShort = answer.grantedNanoUsd < targetNanoUsd;
          const outcome = { ...answer, number, isShort };
          allowance.granted = answer.grantedNanoUsd;
          allowance.isUncertain = false;
          allowance.failed = null;
          const nowMs = this.#parts.monotonicMs();
          allowance.short = isShort ? { outcome, atMs: nowMs } : null;
          if (isShort) allowance.shortAsksMs = Math.max(allowance.shortAsksMs, nowMs) + SHORT_ASKS.everyMs;
          if (extraNanoUsd > 0n) allowance.extra = isShort ? 0n : answer.grantedNanoUsd - targetNanoUsd;
          return outcome;
        },
        (error: unknown) => {
          if (error instanceof SpenderGone) this.#forget(spender.id);
          else {
            allowance.isUncertain = true;
            allowance.failed = { error, atMs: this.#parts.monotonicMs() };
          }
          throw error;
        },
      )
      .finally(() => {
        allowance.asking = null;
      });
    allowance.asking = asking;
    return asking;
  }

  async #releaseIdle(nowMs: number): Promise<void> {
    for (const spender of [...this.#spenders.values()]) {
      for (const allowance of spender.allowances.values()) {
        const idleMs = nowMs - allowance.usedMs;
        if (idleMs > IDLE_MS || spender !== this.#current) await this.#releaseUnheld(spender, allowance, 0n);
        else if (idleMs > SURPLUS_IDLE_MS || allowance.isUncertain) {
          await this.#releaseUnheld(spender, allowance, allowance.usualExtra);
        }
      }
    }
  }

  /** Closes the spenders of earlier lives and replaced ones, once all their charges are in the database. */
  async #closeOlder(): Promise<void> {
    const replaced = [...this.#spenders.values()].filter((spender) => spender !== this.#current);
    if (this.#hasOlder && replaced.every(isDrained)) await this.closeFormer();
  }

  /** Closes this node's older spenders unless it owes entries. Call it at start, when earlier lives' charges are in the database. */
  async closeFormer(): Promise<void> {
    const current = this.#current;
    if (current === null || this.#parts.owesEntries()) return;
    await withTimeout(CLOSE_TIMEOUT_MS, () => this.#parts.store.closeBelow(current.id));
    if (this.#current !== current) return;
    this.#hasOlder = false;
    for (const id of this.#spenders.keys()) if (id !== current.id) this.#spenders.delete(id);
  }

  #withTimeout<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    return withTimeout(ANSWER_TIMEOUT_MS, question);
  }
}

/** A request that waits for credit. */
interface WaitingRequest {
  readonly needNanoUsd: bigint;
  readonly beganMs: number;
  /** By allowance that it has tried: the number of the last ask that was sent before the request came. */
  readonly lastAsks: Map<Allowance, bigint>;
}

function isDueForReplacement({ openedMs, allowances }: Spender, nowMs: number): boolean {
  return nowMs - openedMs > MAX_SPENDER_AGE_MS || allowances.size > MAX_SPENDER_ACCOUNTS;
}

const NOTHING_HELD: Hold = { amountNanoUsd: 0n, spender: null, settle: () => {} };
