import type { Logger } from "pino";
import type { AccountId } from "../contract/account.ts";
import { Failure } from "../errors/failure.ts";
import { AccountShares, SHARE_PERIOD_MS } from "./account-shares.ts";
import { LONG_MS, MANY_REQUESTS, OverloadDetector } from "./overload-detector.ts";
import type { TurnShares } from "./turn-shares.ts";

const TICK_MS = 20;
/** What is not used of the admissible requests, or of the time for refusals, of so long is lost. */
const BURST_MS = 50;
/** The process has recovered when it had to refuse nothing for this time. */
const RECOVERY_MS = 1_000;

/** The delay of the event loop: how late a timer is. */
const DELAY = {
  /**
   * The average above which new requests are refused, whatever has caused it. Under overload accounts that send less than their
   * share are still served.
   */
  maxAverageMs: 1_000,
  /** The weight of earlier measurements in the average: about that of the last 300 ms. */
  weight: 0.93,
};

/** What the process can serve: the highest rate at which it has served requests. */
const CAPACITY = {
  /** Over which time a rate is measured. */
  measuredMs: 500,
  /** No process serves fewer requests a millisecond than this at its best. */
  minBestPerMs: 0.2,
  /** A rate that was measured some time ago counts up to so many times the present one: requests may take longer now than those did. */
  maxTimesPresent: 2,
};

/** The rate at which an overloaded process admits requests. */
const RATE = {
  /** A turn that takes no more than this too long is short. */
  shortMs: 20,
  /** What the rate is multiplied by in each {@link TICK_MS} where turns are short. */
  whereShort: 1.01,
  /**
   * Where they are neither short nor long: who is refused waits for about one turn. It is near 1, as many small accounts that send at once
   * make a single turn longer.
   */
  whereBetween: 0.98,
  /** Where turns are not short, and refusals take a high share of the time. */
  whereRefusing: 1.05,
  /** Where turns are long because of what is served. */
  whereServing: 0.95,
  /** A turn that took longer counts as so many. */
  maxTimes: 5,
  /** If refusals take more of the time, they are why turns are long, however few requests are served: no fewer are admitted then. */
  highRefusingShare: 0.25,
  /**
   * Its limits, as shares of the highest rate served. Turns are also long where other processes take the processor, and a process that
   * has just started does not know its highest rate yet.
   */
  minOfBest: 0.3,
  maxOfBest: 1.5,
};

/**
 * When the backlog, which is the admitted requests that wait for a later turn, is full: only accounts that send less than
 * their share have requests admitted then. It must have more than {@link MANY_REQUESTS}. Requests that come in bursts can wait for each other; a backlog that stays would only be a longer wait for all.
 */
const FULL_BACKLOG = {
  /** The first of them has waited for longer. */
  maxWaitedMs: 100,
  /** Or there are more than are served at best in this time. */
  maxServedInMs: 200,
};

/** What refusals may take. */
const REFUSALS = {
  /**
   * The share of the time that they may take while the backlog is full. With a smaller one there is too little time to
   * refuse the others soon: at twice what can be served refusals take a third. With a larger one clients that send again as soon as they
   * are refused would leave too little time to serve.
   */
  maxShareOfTime: 0.4,
  /** What one takes before anything was measured, and the weight of earlier ones in the average. */
  firstMs: 0.1,
  weight: 0.95,
  /** How many refused connections are read again in a turn of the event loop at most: to refuse as many takes 10 to 20 ms. */
  maxReadInTurn: 512,
};

const OVERLOADED = new Failure(
  "server_is_overloaded",
  "The service receives more requests than it can serve. Try again shortly.",
  { retryAfterMs: 1_000 },
);

export interface OverloadOptions {
  /** A clock that only goes forward. */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  /** The requests that wait for a later turn. */
  readonly turnShares: Pick<TurnShares, "waiting" | "waitedMs" | "waitingOf" | "mayTurnsBeLong">;
}

/**
 * Measures how long the event loop takes for a turn: how late a timer is that is due at its end. If more requests come than the
 * process can serve, turns become longer and longer, or more and more requests wait for a later one, and nobody is answered in time.
 * Then it refuses some, so that the others are served as fast as ever. docs/explanation/decisions/0024-an-overloaded-process-refuses-early.md
 * gives the reasons.
 */
export class Overload {
  readonly #monotonicMs: () => number;
  readonly #log: Logger;
  readonly #turnShares: OverloadOptions["turnShares"];
  #dueMs: number;
  #averageMs = 0;
  readonly #detector = new OverloadDetector();
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
  #refusalMs = REFUSALS.firstMs;
  /** How long refusals may take at the moment, below 0 if others than those of {@link readableInTurn} took longer. */
  #refusableMs = 0;
  #refusableSinceMs = 0;
  /** Under overload: the rate of admission, and how many requests may be admitted now. */
  #admittedPerMs = 0;
  #admissible = 0;
  /** When that was counted. */
  #admissibleAtMs = 0;
  readonly #shares = new AccountShares();
  #shed = 0;
  /** The same when the overload began. */
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
    this.#averageMs = this.#averageMs * DELAY.weight + lateMs * (1 - DELAY.weight);
    const { waiting, waitedMs } = this.#turnShares;
    const requests = this.#requestsInTurn;
    const { isBacklogLong, isOverloaded } = this.#detector.observe({
      nowMs,
      lateMs,
      requests,
      waiting,
      waitedMs,
    });
    this.#measure(nowMs);
    this.#adapt(lateMs, lateMs + TICK_MS);
    this.#dueMs = nowMs + TICK_MS;
    this.#requestsInTurn = 0;
    this.#admittedInTurn = 0;
    this.#refusingMs = 0;
    this.#turnShares.mayTurnsBeLong = isBacklogLong || isOverloaded || this.#overloadedUntilMs !== null;
    if (isOverloaded) this.#begin(nowMs);
    else if (this.#overloadedUntilMs !== null && nowMs > this.#overloadedUntilMs) this.#end();
  }

  /** Whether requests may have to be refused. */
  get isOverloaded(): boolean {
    return this.#overloadedUntilMs !== null || this.#averageMs > DELAY.maxAverageMs;
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
    return this.#monotonicMs() - this.#dueMs > LONG_MS;
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
    const isTooLate = this.#averageMs > DELAY.maxAverageMs;
    if (this.#overloadedUntilMs === null) return isTooLate ? OVERLOADED : null;
    const nowMs = this.#monotonicMs();
    const more = (nowMs - this.#admissibleAtMs) * this.#admittedPerMs;
    this.#admissible = Math.min(this.#admissible + more, 1 + BURST_MS * this.#admittedPerMs);
    this.#admissibleAtMs = nowMs;
    const account = accountOf();
    const unusedShare = this.#shares.unusedOf(account, nowMs, this.#admittedPerMs);
    const unused = this.#fillsBacklog(account) ? 0 : unusedShare;
    const inAdvance = SHARE_PERIOD_MS * this.#admittedPerMs * unused;
    const isAdmissible = this.#admissible >= 1 && !this.#isBacklogFull && !isTooLate;
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
    return OVERLOADED;
  }

  /**
   * Whether so little comes that requests which share turns are admitted at any rate. What can be served has to be learnt again when
   * requests take less time than before, or the clients of an overload have gone.
   */
  get #hasTime(): boolean {
    if (this.#isBacklogFull || this.#averageMs > LONG_MS || this.isTurnLong) return false;
    return this.#admittedInTurn < MANY_REQUESTS;
  }

  /** Whether one more admitted request would wait long for its turn. */
  get #isBacklogFull(): boolean {
    const { waiting, waitedMs } = this.#turnShares;
    if (waiting <= MANY_REQUESTS) return false;
    return waitedMs > FULL_BACKLOG.maxWaitedMs || waiting > FULL_BACKLOG.maxServedInMs * this.#bestPerMs;
  }

  /** Whether the backlog is full, and more than its part of it is the account's own. */
  #fillsBacklog(account: AccountId | null): boolean {
    if (account === null || !this.#isBacklogFull) return false;
    return this.#turnShares.waitingOf(account) > this.#turnShares.waiting / (1 + this.#shares.accounts);
  }

  /**
   * How many of the clients that were refused may send their next request in this turn of the event loop: while the backlog is full,
   * only so many that refusals take no more than their share of the time.
   */
  readableInTurn(): number {
    const nowMs = this.#monotonicMs();
    const moreMs = (nowMs - this.#refusableSinceMs) * REFUSALS.maxShareOfTime;
    this.#refusableMs = Math.min(this.#refusableMs + moreMs, BURST_MS * REFUSALS.maxShareOfTime);
    this.#refusableSinceMs = nowMs;
    if (!this.#isBacklogFull) return REFUSALS.maxReadInTurn;
    const refusable = Math.floor(this.#refusableMs / this.#refusalMs);
    return Math.min(Math.max(1, refusable), REFUSALS.maxReadInTurn);
  }

  /** Counts a request that was refused with the failure of {@link arrived}, and how long that took in all. */
  refused(ms: number): void {
    this.#shed++;
    this.#refusingMs += ms;
    this.#refusableMs = Math.max(this.#refusableMs - ms, -BURST_MS * REFUSALS.maxShareOfTime);
    this.#refusalMs = this.#refusalMs * REFUSALS.weight + ms * (1 - REFUSALS.weight);
  }

  /** Counts a request that the process has done its part for: it waits for a model, or has ended. */
  served(): void {
    this.#served++;
  }

  #measure(nowMs: number): void {
    const passedMs = nowMs - this.#measuredMs;
    if (passedMs < CAPACITY.measuredMs) return;
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
    const times = Math.min(passedMs / TICK_MS, RATE.maxTimes);
    const wantedPerMs = this.#admittedPerMs * this.#changeOfRate(lateMs, passedMs) ** times;
    this.#admittedPerMs = Math.min(
      Math.max(wantedPerMs, RATE.minOfBest * this.#bestPerMs),
      RATE.maxOfBest * this.#bestPerMs,
    );
  }

  #changeOfRate(lateMs: number, passedMs: number): number {
    if (lateMs <= RATE.shortMs) return RATE.whereShort;
    if (this.#refusingMs > passedMs * RATE.highRefusingShare) return RATE.whereRefusing;
    return lateMs <= LONG_MS ? RATE.whereBetween : RATE.whereServing;
  }

  #begin(nowMs: number): void {
    if (this.#overloadedUntilMs === null) {
      this.#shedBefore = this.#shed;
      // A process that has just started, or was idle, has no measurement of what it can serve.
      const servedPerMs = this.#served / Math.max(1, nowMs - this.#measuredMs);
      const presentPerMs = Math.max(servedPerMs, this.#lastPerMs, CAPACITY.minBestPerMs);
      this.#bestPerMs = Math.max(
        presentPerMs,
        Math.min(this.#bestPerMs, CAPACITY.maxTimesPresent * presentPerMs),
      );
      this.#admittedPerMs = this.#bestPerMs;
      this.#admissible = 0;
      this.#admissibleAtMs = nowMs;
      this.#shares.begin(nowMs, this.#bestPerMs);
      this.#log.warn("more requests come than this process can serve: some are refused");
    }
    this.#overloadedUntilMs = nowMs + RECOVERY_MS;
  }

  #end(): void {
    this.#overloadedUntilMs = null;
    this.#log.info({ refused: this.#shed - this.#shedBefore }, "requests are not refused any more");
  }
}
