import pino from "pino";
import type { AccountId } from "../../../server/src/contract/account.ts";
import { Overload } from "../../../server/src/overload/overload.ts";
import { TurnShares } from "../../../server/src/overload/turn-shares.ts";

export const ACCOUNT = "account" as AccountId;
export const OTHER = "other" as AccountId;

export const TICK_MS = 20;
/** How long the simulated process takes for a request. */
const COST = { servedMs: 0.5, refusedMs: 0.05 };
/** Requests that it can serve in a second. */
export const CAPACITY = 1_000 / COST.servedMs;
export const LOG = pino({ level: "silent" });

/** A process with one thread, on a clock of its own: each turn of its event loop answers what came during the last one. */
export class Process {
  nowMs = 0;
  served = 0;
  refused = 0;
  longestTurnMs = 0;
  /** Requests refused by account; those of no known key are under `null`. */
  readonly refusedOf = new Map<AccountId | null, number>();
  readonly #overload = new Overload({
    monotonicMs: () => this.nowMs,
    log: LOG,
    turnShares: { waiting: 0, waitedMs: 0, waitingOf: () => 0, mayTurnsBeLong: false },
  });
  #dueMs = TICK_MS;
  cost: typeof COST;

  constructor(cost = COST) {
    this.cost = cost;
  }

  /** A turn of the event loop in which a request of each of `accounts` has arrived. */
  turn(accounts: readonly (AccountId | null)[]): void {
    const beganMs = this.nowMs;
    for (const account of accounts) {
      const isServed = this.#overload.refusalOnArrival(() => account, false) === null;
      this.nowMs += isServed ? this.cost.servedMs : this.cost.refusedMs;
      if (isServed) {
        this.#overload.served();
        this.served++;
      } else {
        this.#overload.refused(this.cost.refusedMs);
        this.refused++;
        this.refusedOf.set(account, (this.refusedOf.get(account) ?? 0) + 1);
      }
    }
    const requests = accounts.length;
    this.longestTurnMs = Math.max(this.longestTurnMs, this.nowMs - beganMs);
    if (requests === 0) this.nowMs = Math.max(this.nowMs + 1, this.#dueMs);
    if (this.nowMs < this.#dueMs) return;
    this.#overload.tick();
    this.#dueMs = this.nowMs + TICK_MS;
  }

  /** Requests of one account at a steady rate, whether or not earlier ones are answered: each client has at most one under way. */
  load(perSecond: number, seconds: number, clients = Number.POSITIVE_INFINITY): void {
    this.loads([{ account: ACCOUNT, perSecond, clients }], seconds);
  }

  /** The same of several accounts. Those that arrive in one turn come in the order given. */
  loads(loads: readonly Load[], seconds: number): void {
    const endMs = this.nowMs + seconds * 1_000;
    const due = loads.map(() => 0);
    for (let lastMs = this.nowMs; this.nowMs < endMs; ) {
      const passedMs = this.nowMs - lastMs;
      lastMs = this.nowMs;
      const arrived = loads.flatMap(({ account, perSecond, clients = Number.POSITIVE_INFINITY }, index) => {
        const all = (due[index] ?? 0) + (passedMs / 1_000) * perSecond;
        const requests = Math.min(Math.floor(all), clients);
        due[index] = all - requests;
        return Array<AccountId | null>(requests).fill(account);
      });
      this.turn(arrived);
    }
  }
}

interface Load {
  readonly account: AccountId | null;
  readonly perSecond: number;
  readonly clients?: number;
}

/**
 * A process whose accounts share its turns, and clients of one account, each with a connection of its own: it sends again when it is answered
 * and its next request is due. A connection that was refused rests until it is its turn.
 */
export class Crowded {
  nowMs = 0;
  served = 0;
  refused = 0;
  /** How long clients waited: those that were served, and those that were refused. */
  readonly servedMs: number[] = [];
  readonly refusedMs: number[] = [];
  /** Requests of another account that were refused. It sends one in each tick, and that costs nothing. */
  refusedOfOther = 0;
  cost: typeof COST;
  readonly #endsOfTurn: (() => void)[] = [];
  readonly #shares = new TurnShares(
    () => this.nowMs,
    (run) => this.#endsOfTurn.push(run),
  );
  readonly #overload = new Overload({
    monotonicMs: () => this.nowMs,
    log: LOG,
    turnShares: this.#shares,
  });
  #dueMs = TICK_MS;
  /** Clients without a request under way. */
  #idle: number;
  /** Those whose connection rests, and when each of them has sent the request that is read after it, if it has. */
  readonly #resting: (number | null)[] = [];
  #requestsDue = 0;
  #stalledMs = 0;

  constructor(cost: typeof COST, clients: number) {
    this.cost = cost;
    this.#idle = clients;
  }

  /** `burstMs`: all requests of so much time are sent at its end; without it each when it is due. */
  async load(perSecond: number, seconds: number, burstMs = 0): Promise<void> {
    this.served = 0;
    this.refused = 0;
    this.servedMs.length = 0;
    this.refusedMs.length = 0;
    // What clients were late with is given up.
    this.#requestsDue = 0;
    const endMs = this.nowMs + seconds * 1_000;
    let burstEndMs = this.nowMs + burstMs;
    for (let lastMs = this.nowMs; this.nowMs < endMs; ) {
      if (burstMs === 0) this.#requestsDue += ((this.nowMs - lastMs) / 1_000) * perSecond;
      else if (this.nowMs >= burstEndMs) {
        this.#requestsDue += (burstMs / 1_000) * perSecond;
        burstEndMs += burstMs;
      }
      const beganMs = this.nowMs;
      await this.#turn((beganMs + lastMs) / 2);
      lastMs = beganMs;
      if (this.nowMs === beganMs) this.nowMs += 0.5;
      this.nowMs += this.#stalledMs;
      this.#stalledMs = 0;
    }
  }

  /** Nothing happens for so long, and requests come all the same. */
  stall(ms: number): void {
    this.#stalledMs = ms;
  }

  /** All clients but some go. */
  leave(clients: number): void {
    this.#idle = clients;
    this.#resting.length = 0;
  }

  /** `sentMs`: when the requests that are read now were sent, on average. */
  async #turn(sentMs: number): Promise<void> {
    const due = Math.floor(this.#requestsDue);
    const sent = Math.min(due, this.#idle);
    // Connections that rest are as many of the idle ones as any.
    for (let client = 0; client < this.#resting.length && this.#requestsDue - sent >= 1; client++) {
      if (this.#resting[client] !== null) continue;
      this.#resting[client] = this.nowMs;
      this.#requestsDue--;
    }
    this.#requestsDue -= sent;
    this.#idle -= sent;
    for (let request = 0; request < sent; request++) await this.#arrive(sentMs);
    for (const sinceMs of this.#resting.splice(0, this.#overload.readableInTurn())) {
      if (sinceMs === null) this.#idle++;
      else await this.#arrive(sinceMs);
    }
    for (const end of this.#endsOfTurn.splice(0)) end();
    await Promise.resolve();
    if (this.nowMs < this.#dueMs) return;
    if (this.#overload.refusalOnArrival(() => OTHER, false) !== null) this.refusedOfOther++;
    this.#overload.tick();
    this.#dueMs = this.nowMs + TICK_MS;
  }

  async #arrive(sinceMs: number): Promise<void> {
    if (this.#overload.refusalOnArrival(() => ACCOUNT, true) !== null) {
      this.nowMs += this.cost.refusedMs;
      this.#overload.refused(this.cost.refusedMs);
      this.refused++;
      this.refusedMs.push(this.nowMs - sinceMs);
      this.#resting.push(null);
      return;
    }
    const serve = () => {
      this.nowMs += this.cost.servedMs;
      this.#overload.served();
      this.served++;
      this.servedMs.push(this.nowMs - sinceMs);
      this.#idle++;
    };
    const wait = this.#shares.begin(ACCOUNT, 100);
    if (wait === null) serve();
    else void wait.then(serve);
  }
}
