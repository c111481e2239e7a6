import type { Logger } from "pino";
import type { AccountId } from "../contract/account.ts";
import { Failure } from "../errors/failure.ts";
import type { TurnShares } from "./turn-shares.ts";

const TICK_MS = 20;
/**
 * The average delay of the event loop above which new requests are refused, whatever has caused it. Under overload accounts that send
 * less than their share are still served.
 */
const MAX_AVERAGE_DELAY_MS = 1_000;
/** The weight of earlier measurements in the average: about that of the last 300 ms. */
const AVERAGE_WEIGHT = 0.93;
/** A process is overloaded when for this time each turn of its event loop took so long and brought so many requests. */
const LONG_TURNS_MS = 150;
/** It is so, too, when for this time so many requests waited for a later turn, the first of them for so long: longer than a burst takes. */
const LONG_BACKLOG_MS = 500;
/** Or for this time if more of them wait at its end than at its beginning: of a burst, fewer and fewer do. */
const GROWING_BACKLOG_MS = 200;
const LONG_TURN_MS = 50;
/** Fewer requests at once are served, however long a turn takes. */
const MIN_REQUESTS_IN_TURN = 200;
/** Over which time the rate is measured at which requests are served. */
const MEASURED_MS = 500;
/** No process serves fewer requests a millisecond than this at its best. */
const MIN_BEST_PER_MS = 0.2;
/** A rate that was measured some time ago counts up to so many times the present one: requests may take longer now than those did. */
const MAX_TIMES_PRESENT = 2;
/**
 * By what the rate of admission is multiplied in each {@link TICK_MS}: where turns are short; where they are long, and refusals take
 * a high share of the time; and where serving takes it.
 */
const CHANGE = { short: 1.01, refusing: 1.05, serving: 0.95 };
/** A turn that took longer counts as so many. */
const MAX_CHANGES = 5;
/**
 * The limits of the rate of admission, as shares of the highest rate. Turns are also long where other processes take the processor, and
 * a process that has just started does not know its highest rate yet.
 */
const MIN_SHARE = 0.3;
const MAX_SHARE = 1.5;
/**
 * The share of the time that refusals may take while too many admitted requests wait. With a smaller one there is too little time to
 * refuse the others soon: at twice what can be served refusals take a third. With a larger one clients that send again as soon as they
 * are refused would leave too little time to serve.
 */
const MAX_REFUSING_SHARE = 0.4;
/** If refusals take more of the time, they are why turns are long, however few requests are served: no fewer are admitted then. */
const HIGH_REFUSING_SHARE = 0.25;
/** What a refusal takes before anything was measured, and the weight of earlier refusals in the average. */
const FIRST_REFUSAL_MS = 0.1;
const REFUSAL_WEIGHT = 0.95;
/** How many refused connections are read again in a turn of the event loop at most: to refuse as many takes 10 to 20 ms. */
const MAX_READ_IN_TURN = 512;
/**
 * Nothing more is admitted while the first of more than {@link MIN_REQUESTS_IN_TURN} requests that wait for their turn has waited for
 * {@link MAX_WAITED_MS}, or while more of them wait than are served at best in {@link MAX_WAITING_MS}. Requests that come in bursts can wait for each other; a queue that stays would only be a longer wait for all.
 */
const MAX_WAITED_MS = 100;
const MAX_WAITING_MS = 200;
/** What is not used of the admissible requests of this time is lost. */
const BURST_MS = 50;
/** Over which time the accounts' requests are counted, and how much of what is admissible then their shares may take in advance. */
const SHARED_MS = 100;
/** An account's share of the first time of an overload, when it is not known yet who sends most. */
const FIRST_SHARE = 0.05;
/** An account's share of {@link SHARED_MS} is at least so many requests: what can be served may not be known, or be known too low. */
const MIN_SHARE_REQUESTS = 10;
/** An overloaded process has recovered when it had to refuse nothing for this time. */
const RECOVERY_MS = 1_000;

const FAILURE = new Failure(
  "server_is_overloaded",
  "The service receives more requests than it can serve. Try again shortly.",
  { retryAfterMs: 1_000 },
);

export interface OverloadOptions {
  /** A clock that only goes forward. */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  /** The requests that wait for a later turn. They learn whether the process is overloaded. */
  readonly turnShares: Pick<TurnShares, "waiting" | "waitedMs" | "waitingOf" | "isOverloaded">;
}

/**
 * Measures how long the event loop takes for a turn: how late a timer is that is due at its end. If more requests come than the
 * process can serve, turns become longer and longer, or more and more requests wait for a later one, and nobody is answered in time.
 * Then it refuses some, so that the others are served as fast as ever.
 */
export class Overload {
  readonly #monotonicMs: () => number;
  readonly #log: Logger;
  readonly #turnShares: OverloadOptions["turnShares"];
  #dueMs: number;
  #averageMs = 0;
  /** When the first of a series of long turns began; `null` after a short one. */
  #longSinceMs: number | null = null;
  /** How many requests waited at its end. */
  #waitingSince = 0;
  #requestsInTurn = 0;
  /** How many requests were admitted since the last tick. Counted under overload only. */
  #admittedInTurn = 0;
  /** Until when the process counts as overloaded. */
  #overloadedUntilMs: number | null = null;
  /** Requests served since the last measurement, the highest rate and the last one: requests served a millisecond. */
  #served = 0;
  #measuredMs: number;
  #bestPerMs = 0;
  #lastPerMs = 0;
  /** How long refusals have taken since the last tick, and how long one takes on average. */
  #refusingMs = 0;
  #refusalMs = FIRST_REFUSAL_MS;
  /** How long refusals may take at the moment, below 0 if others than those of {@link readableInTurn} took longer. */
  #refusableMs = 0;
  #refusableSinceMs = 0;
  /** Under overload: the rate of admission, and how many requests may be admitted now. */
  #admittedPerMs = 0;
  #admissible = 0;
  #countedMs = 0;
  /** Under overload: the requests of the present time and of the one before by account, `null` for all without a known key. */
  #arrived = new Map<AccountId | null, number>();
  #arrivedBefore: ReadonlyMap<AccountId | null, number> = new Map();
  /** When the present time began. */
  #sharedMs = 0;
  /** How many requests of the present time are each account's share. */
  #share = 1;
  #shed = 0;
  #shedBefore = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor({ monotonicMs, log, turnShares }: OverloadOptions) {
    this.#monotonicMs = monotonicMs;
    this.#log = log;
    this.#turnShares = turnShares;
    this.#measuredMs = monotonicMs();
    this.#dueMs = this.#measuredMs + TICK_MS;
  }

  start(): void {
    this.#dueMs = this.#monotonicMs() + TICK_MS;
    this.#timer = setInterval(() => this.tick(), TICK_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** Call it every {@link TICK_MS}. */
  tick(): void {
    const nowMs = this.#monotonicMs();
    const lateMs = Math.max(0, nowMs - this.#dueMs);
    this.#averageMs = this.#averageMs * AVERAGE_WEIGHT + lateMs * (1 - AVERAGE_WEIGHT);
    const { waiting, waitedMs } = this.#turnShares;
    const isTurnLong = lateMs > LONG_TURN_MS && this.#requestsInTurn >= MIN_REQUESTS_IN_TURN;
    const isLong = isTurnLong || (waitedMs > LONG_TURN_MS && waiting >= MIN_REQUESTS_IN_TURN);
    if (!isLong) this.#longSinceMs = null;
    else if (this.#longSinceMs === null) {
      this.#longSinceMs = this.#dueMs;
      this.#waitingSince = waiting;
    }
    this.#measure(nowMs);
    this.#adapt(lateMs, lateMs + TICK_MS);
    this.#dueMs = nowMs + TICK_MS;
    this.#requestsInTurn = 0;
    this.#admittedInTurn = 0;
    this.#refusingMs = 0;
    const backlogMs = waiting > this.#waitingSince ? GROWING_BACKLOG_MS : LONG_BACKLOG_MS;
    const longEnoughMs = isTurnLong ? LONG_TURNS_MS : backlogMs;
    if (this.#longSinceMs !== null && nowMs - this.#longSinceMs > longEnoughMs) this.#begin(nowMs);
    else if (this.#overloadedUntilMs !== null && nowMs > this.#overloadedUntilMs) this.#end();
  }

  /** Whether requests may have to be refused. */
  get isOverloaded(): boolean {
    return this.#overloadedUntilMs !== null || this.#averageMs > MAX_AVERAGE_DELAY_MS;
  }

  /** The average delay of the event loop. */
  get delayMs(): number {
    return this.#averageMs;
  }

  /**
   * Whether this turn of the event loop takes so long that a connection which has brought a request should bring no further one
   * in it. Node does not end a turn while 1,024 sockets at once have something to read: clients that were answered in it can send
   * again in it, and for seconds no timer would run.
   */
  get isTurnLong(): boolean {
    return this.#monotonicMs() - this.#dueMs > LONG_TURN_MS;
  }

  /** The number of requests that were refused. */
  get shed(): number {
    return this.#shed;
  }

  /**
   * Counts a request that has arrived. Returns the failure to refuse it with, unless it must be served; `null` to serve it.
   * `accountOf` finds the account of its key if that is known without a wait, and is called under overload only: requests of accounts
   * that send less than their share of what can be served are served first, however many the others send. `sharesTurns`: once
   * admitted it waits for its turn if there is much to do.
   */
  arrived(accountOf: () => AccountId | null, sharesTurns: boolean): Failure | null {
    this.#requestsInTurn++;
    const isTooLate = this.#averageMs > MAX_AVERAGE_DELAY_MS;
    if (this.#overloadedUntilMs === null) return isTooLate ? FAILURE : null;
    const nowMs = this.#monotonicMs();
    const more = (nowMs - this.#countedMs) * this.#admittedPerMs;
    this.#admissible = Math.min(this.#admissible + more, 1 + BURST_MS * this.#admittedPerMs);
    this.#countedMs = nowMs;
    const account = accountOf();
    const unusedShare = this.#unusedShare(account, nowMs);
    const unused = this.#hasManyWaiting(account) ? 0 : unusedShare;
    const inAdvance = SHARED_MS * this.#admittedPerMs * unused;
    const isAdmissible = this.#admissible >= 1 && !this.#isBehind && !isTooLate;
    if (isAdmissible || (unused > 0 && this.#admissible + inAdvance >= 1)) {
      this.#admissible--;
      this.#admittedInTurn++;
      return null;
    }
    if (sharesTurns && this.#hasTime) {
      this.#admittedInTurn++;
      return null;
    }
    this.#overloadedUntilMs = nowMs + RECOVERY_MS;
    return FAILURE;
  }

  /**
   * Counts the request of an account. Returns how much of its share the account has left, 0 to 1: nothing if it sent more than its share
   * just before. Requests without a known key have no share, because a stranger can send any number of keys.
   */
  #unusedShare(account: AccountId | null, nowMs: number): number {
    const passedMs = nowMs - this.#sharedMs;
    if (passedMs > SHARED_MS) {
      // As many accounts as before are expected to share the time that begins, and one more that has sent nothing. After a long turn
      // the requests of its whole time arrive together.
      const admissible = Math.min(passedMs, RECOVERY_MS) * this.#admittedPerMs;
      this.#share = Math.max(MIN_SHARE_REQUESTS, admissible / (1 + this.#arrived.size));
      this.#arrivedBefore = this.#arrived;
      this.#arrived = new Map();
      this.#sharedMs = nowMs;
    }
    const count = this.#arrived.get(account) ?? 0;
    this.#arrived.set(account, count + 1);
    if (account === null || (this.#arrivedBefore.get(account) ?? 0) > this.#share) return 0;
    return Math.max(0, 1 - count / this.#share);
  }

  /**
   * Whether so little comes that requests which share turns are admitted at any rate. What can be served has to be learnt again when
   * requests take less time than before, or the clients of an overload have gone.
   */
  get #hasTime(): boolean {
    if (this.#isBehind || this.#averageMs > LONG_TURN_MS || this.isTurnLong) return false;
    return this.#admittedInTurn < MIN_REQUESTS_IN_TURN;
  }

  /** Whether so many admitted requests wait for their turn that one more would wait long. */
  get #isBehind(): boolean {
    const { waiting, waitedMs } = this.#turnShares;
    if (waiting <= MIN_REQUESTS_IN_TURN) return false;
    return waitedMs > MAX_WAITED_MS || waiting > MAX_WAITING_MS * this.#bestPerMs;
  }

  /** Whether too many admitted requests wait, and more than its part of them are the account's own. */
  #hasManyWaiting(account: AccountId | null): boolean {
    if (account === null || !this.#isBehind) return false;
    return this.#turnShares.waitingOf(account) > this.#turnShares.waiting / (1 + this.#arrived.size);
  }

  /**
   * How many of the clients that were refused may send their next request in this turn of the event loop: while too many admitted
   * requests wait, only so many that refusals take no more than their share of the time.
   */
  readableInTurn(): number {
    const nowMs = this.#monotonicMs();
    const moreMs = (nowMs - this.#refusableSinceMs) * MAX_REFUSING_SHARE;
    this.#refusableMs = Math.min(this.#refusableMs + moreMs, BURST_MS * MAX_REFUSING_SHARE);
    this.#refusableSinceMs = nowMs;
    if (!this.#isBehind) return MAX_READ_IN_TURN;
    const refusable = Math.floor(this.#refusableMs / this.#refusalMs);
    return Math.min(Math.max(1, refusable), MAX_READ_IN_TURN);
  }

  /** Counts a request that was refused with the failure of {@link arrived}, and how long that took in all. */
  refused(ms: number): void {
    this.#shed++;
    this.#refusingMs += ms;
    this.#refusableMs = Math.max(this.#refusableMs - ms, -BURST_MS * MAX_REFUSING_SHARE);
    this.#refusalMs = this.#refusalMs * REFUSAL_WEIGHT + ms * (1 - REFUSAL_WEIGHT);
  }

  /** Counts a request that the process has done its part for: it waits for a model, or has ended. */
  served(): void {
    this.#served++;
  }

  #measure(nowMs: number): void {
    const passedMs = nowMs - this.#measuredMs;
    if (passedMs < MEASURED_MS) return;
    const perMs = this.#served / passedMs;
    this.#bestPerMs = Math.max(this.#bestPerMs, perMs);
    this.#lastPerMs = perMs;
    this.#served = 0;
    this.#measuredMs = nowMs;
  }

  /**
   * Admits more requests where turns are short, or where refusals take a high share of the time, and fewer otherwise. `passedMs`: since
   * the last tick, of which `lateMs` are too many.
   */
  #adapt(lateMs: number, passedMs: number): void {
    if (this.#overloadedUntilMs === null) return;
    const { short, refusing, serving } = CHANGE;
    const times = Math.min(passedMs / TICK_MS, MAX_CHANGES);
    const isRefusing = this.#refusingMs > passedMs * HIGH_REFUSING_SHARE;
    const change = lateMs <= LONG_TURN_MS ? short : isRefusing ? refusing : serving;
    const wantedPerMs = this.#admittedPerMs * change ** times;
    this.#admittedPerMs = Math.min(
      Math.max(wantedPerMs, MIN_SHARE * this.#bestPerMs),
      MAX_SHARE * this.#bestPerMs,
    );
  }

  #begin(nowMs: number): void {
    if (this.#overloadedUntilMs === null) {
      this.#shedBefore = this.#shed;
      // A process that has just started, or was idle, has no measurement of what it can serve.
      const servedPerMs = this.#served / Math.max(1, nowMs - this.#measuredMs);
      const presentPerMs = Math.max(servedPerMs, this.#lastPerMs, MIN_BEST_PER_MS);
      this.#bestPerMs = Math.max(presentPerMs, Math.min(this.#bestPerMs, MAX_TIMES_PRESENT * presentPerMs));
      this.#admittedPerMs = this.#bestPerMs;
      this.#admissible = 0;
      this.#countedMs = nowMs;
      this.#arrived = new Map();
      this.#arrivedBefore = new Map();
      this.#sharedMs = nowMs;
      this.#share = Math.max(MIN_SHARE_REQUESTS, FIRST_SHARE * SHARED_MS * this.#bestPerMs);
      this.#turnShares.isOverloaded = true;
      this.#log.warn("more requests come than this process can serve: some are refused");
    }
    this.#overloadedUntilMs = nowMs + RECOVERY_MS;
  }

  #end(): void {
    this.#overloadedUntilMs = null;
    this.#turnShares.isOverloaded = false;
    this.#log.info({ refused: this.#shed - this.#shedBefore }, "requests are not refused any more");
  }
}
