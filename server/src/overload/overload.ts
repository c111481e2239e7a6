import type { Logger } from "pino";
import type { AccountId } from "../contract/account.ts";
import { Failure } from "../errors/failure.ts";
import { AccountShares, SHARE_PERIOD_MS } from "./account-shares.ts";
import { AllowedRate } from "./allowed-rate.ts";
import { BacklogLimit } from "./backlog-limit.ts";
import { LONG_MS, MANY_REQUESTS, OverloadDetector, TICK_MS } from "./overload-detector.ts";
import { RefusalBudget } from "./refusal-budget.ts";
import { ServedRate } from "./served-rate.ts";
import type { TurnShares } from "./turn-shares.ts";

/** The process has recovered when it had to refuse nothing for this time. */
const RECOVERY_MS = 1_000;

/** The delay of the event loop: how late a timer is. */
const DELAY = {
  /**
   * The average above which new requests are refused, whatever has caused it. Under overload accounts that send less than their
   * share are still served.
   */
  maxAverageMs: 1_000,
  /** The weight of earlier measurements in the average, which is about that of the last 300 ms. */
  weight: 0.93,
};

const OVERLOADED = new Failure(
  "server_is_overloaded",
  "The service receives more requests than it can serve. Try again shortly.",
  { retryAfterMs: 1_000 },
);

interface OverloadOptions {
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  /** The requests that wait for a later turn. */
  readonly turnShares: Pick<TurnShares, "waiting" | "waitedMs" | "waitingOf" | "mayTurnsBeLong">;
}

/**
 * Refuses some requests when more arrive than the process can serve, so that the others are served as fast as usual. Otherwise turns of the event loop
 * would become longer and longer, or more and more requests would wait for a later turn, until none is answered in time. A turn is as long as the timer
 * that is due at its end is late. docs/explanation/decisions/0024-an-overloaded-process-refuses-early.md gives the reasons.
 */
export class Overload {
  readonly #monotonicMs: () => number;
  readonly #log: Logger;
  readonly #turnShares: OverloadOptions["turnShares"];
  readonly #detector = new OverloadDetector();
  readonly #servedRate: ServedRate;
  readonly #allowedRate = new AllowedRate();
  readonly #backlogLimit = new BacklogLimit();
  readonly #shares = new AccountShares();
  readonly #refusalBudget = new RefusalBudget();
  /** When the next tick is due. */
  #dueMs: number;
  /** The average delay of the event loop. */
  #averageMs = 0;
  /** Since the last tick: the requests that arrived, those that an overloaded process accepted, and how long refusals took. */
  #requestsInTick = 0;
  #acceptedInTick = 0;
  #refusingMs = 0;
  /** When the last overload was found. */
  #beganMs = Number.NEGATIVE_INFINITY;
  /** Until when the process counts as overloaded; `null` if it is not. */
  #overloadedUntilMs: number | null = null;
  /** The number of requests that were refused since the start, and until the overload began. */
  #refused = 0;
  #refusedBefore = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor({ monotonicMs, log, turnShares }: OverloadOptions) {
    this.#monotonicMs = monotonicMs;
    this.#log = log;
    this.#turnShares = turnShares;
    const nowMs = monotonicMs();
    this.#servedRate = new ServedRate(nowMs);
    this.#dueMs = nowMs + TICK_MS;
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
    const requests = this.#requestsInTick;
    const { isBacklogLong, isOverloaded } = this.#detector.observe({
      nowMs,
      lateMs,
      requests,
      waiting,
      waitedMs,
    });
    this.#servedRate.measure(nowMs);
    if (this.#overloadedUntilMs !== null) {
      this.#allowedRate.adapt({ lateMs, refusingMs: this.#refusingMs }, this.#servedRate.bestPerMs);
      this.#backlogLimit.adapt(waiting);
    }
    this.#dueMs = nowMs + TICK_MS;
    this.#requestsInTick = 0;
    this.#acceptedInTick = 0;
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
   * Whether this turn of the event loop takes long. A connection that has brought a request should then bring no other one in the same turn. Node
   * does not end a turn while 1,024 sockets have something to read. If clients could send again in the turn in which they were answered, the turn would
   * last for seconds, in which no timer runs.
   */
  get isTurnLong(): boolean {
    return this.#monotonicMs() - this.#dueMs > LONG_MS;
  }

  /** The number of requests that were refused. */
  get refusedRequests(): number {
    return this.#refused;
  }

  /**
   * Counts a request that has arrived. Returns the failure to refuse it with; `null` to serve it. Requests of accounts that send less than
   * their share of what can be served are served first, however many the others send.
   *
   * @param accountOf Finds the account of the request's key if it is known without a wait. Called under overload only.
   * @param sharesTurns Whether the request, once accepted, waits for its turn if there is much to do.
   */
  refusalOnArrival(accountOf: () => AccountId | null, sharesTurns: boolean): Failure | null {
    this.#requestsInTick++;
    const isTooLate = this.#averageMs > DELAY.maxAverageMs;
    if (this.#overloadedUntilMs === null) return isTooLate ? OVERLOADED : null;
    const nowMs = this.#monotonicMs();
    const acceptable = this.#allowedRate.acceptableAt(nowMs);
    const inAdvance = this.#acceptableInAdvance(accountOf(), nowMs);
    const isAcceptable = acceptable >= 1 && !this.#isBacklogFull && !isTooLate;
    if (isAcceptable || (inAdvance > 0 && acceptable + inAdvance >= 1)) {
      this.#allowedRate.count();
      this.#acceptedInTick++;
      return null;
    }
    if (sharesTurns && this.#hasTime) {
      this.#acceptedInTick++;
      return null;
    }
    this.#overloadedUntilMs = nowMs + RECOVERY_MS;
    return OVERLOADED;
  }

  /** Counts a request of an account. Returns how many requests may be accepted in advance for what it has left of its share. */
  #acceptableInAdvance(account: AccountId | null, nowMs: number): number {
    const { perMs } = this.#allowedRate;
    const unusedShare = this.#shares.unusedOf(account, nowMs, perMs);
    return this.#fillsBacklog(account) ? 0 : SHARE_PERIOD_MS * perMs * unusedShare;
  }

  /**
   * Whether so few requests arrive that all of them can be accepted, whatever the allowed rate. The process thereby learns that it can serve more: when
   * requests take less time than before, or the clients that caused the overload have gone.
   */
  get #hasTime(): boolean {
    if (this.#isBacklogFull || this.#averageMs > LONG_MS || this.isTurnLong) return false;
    return this.#acceptedInTick < MANY_REQUESTS;
  }

  /** Whether one more accepted request would wait long for its turn. */
  get #isBacklogFull(): boolean {
    const { waiting, waitedMs } = this.#turnShares;
    return this.#backlogLimit.isReached(waiting, waitedMs, this.#servedRate.bestPerMs);
  }

  /** Whether the backlog is full, and the account has more requests in it than an equal part. */
  #fillsBacklog(account: AccountId | null): boolean {
    if (account === null || !this.#isBacklogFull) return false;
    return this.#turnShares.waitingOf(account) > this.#turnShares.waiting / (1 + this.#shares.accounts);
  }

  /**
   * How many of the clients that were refused may send their next request in this turn of the event loop. While the backlog is full, this number is
   * limited so that refusals take no more than their share of the time.
   */
  readableInTurn(): number {
    const nowMs = this.#monotonicMs();
    return this.#refusalBudget.readableAt(nowMs, this.#isBacklogFull, nowMs - this.#beganMs);
  }

  /** Counts a request that was refused with the failure of {@link refusalOnArrival}, and how long that took in all. */
  refused(ms: number): void {
    this.#refused++;
    this.#refusingMs += ms;
    this.#refusalBudget.count(ms);
  }

  /** Counts a request that the process has done its part for: it waits for a model, or has ended. */
  served(): void {
    this.#servedRate.count();
  }

  #begin(nowMs: number): void {
    if (this.#overloadedUntilMs === null) {
      this.#beganMs = nowMs;
      this.#refusedBefore = this.#refused;
      this.#servedRate.boundBest(nowMs);
      const { bestPerMs } = this.#servedRate;
      this.#allowedRate.begin(nowMs, bestPerMs);
      this.#shares.begin(nowMs, bestPerMs);
      this.#log.warn("more requests arrive than this process can serve: some are refused");
    }
    this.#overloadedUntilMs = nowMs + RECOVERY_MS;
  }

  #end(): void {
    this.#overloadedUntilMs = null;
    this.#log.info(
      { refused: this.#refused - this.#refusedBefore },
      "the overload is over: no requests are refused",
    );
  }
}
