import pino from "pino";
import { describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { Overload } from "../../server/src/request/overload.ts";

const TICK_MS = 20;
/** How long the simulated process takes for a request. */
const COST = { servedMs: 0.5, refusedMs: 0.05 };
/** Requests that it can serve in a second. */
const CAPACITY = 1_000 / COST.servedMs;
const LOG = pino({ level: "silent" });

/** A process with one thread, on a clock of its own: each turn of its event loop answers what came during the last one. */
class Process {
  nowMs = 0;
  served = 0;
  refused = 0;
  longestTurnMs = 0;
  /** Requests refused by account; those of no known key are under `null`. */
  readonly refusedOf = new Map<AccountId | null, number>();
  readonly #overload = new Overload({
    monotonicMs: () => this.nowMs,
    log: LOG,
    turnShares: { waiting: 0, waitedMs: 0 },
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
      const isServed = this.#overload.arrived(() => account) === null;
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

  /** Requests of `clients` that each send the next one as soon as they are answered. */
  again(clients: number, seconds: number): void {
    const endMs = this.nowMs + seconds * 1_000;
    const all = Array<AccountId>(clients).fill(ACCOUNT);
    while (this.nowMs < endMs) this.turn(all);
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

const ACCOUNT = "account" as AccountId;
const accountsOf = (count: number) => Array<AccountId>(count).fill(ACCOUNT);

describe("a process under more load than it can serve", () => {
  for (const times of [1.5, 2, 3]) {
    it(`serves at least 0.7 of what it can at ${times} times of it, and answers everybody soon`, () => {
      const process = new Process();
      process.load(times * CAPACITY, 2);
      process.served = 0;
      process.longestTurnMs = 0;
      process.load(times * CAPACITY, 30);
      expect(process.served / (30 * CAPACITY)).toBeGreaterThan(0.7);
      expect(process.refused).toBeGreaterThan(0);
      expect(process.longestTurnMs).toBeLessThan(200);
    });
  }

  it("answers everybody soon where a refusal costs a quarter of an answer", () => {
    const cost = { servedMs: 0.24, refusedMs: 0.06 };
    const perSecond = 6_700;
    // As many as leaves time to refuse the others.
    const servable = (1_000 - perSecond * cost.refusedMs) / (cost.servedMs - cost.refusedMs);
    const process = new Process(cost);
    process.load(4_000, 3, 4_000);
    process.load(perSecond, 5, 4_000);
    process.served = 0;
    process.longestTurnMs = 0;
    process.load(perSecond, 30, 4_000);
    expect(process.longestTurnMs).toBeLessThan(150);
    expect(process.served / (30 * servable)).toBeGreaterThan(0.8);
  });

  for (const [refusedMs, before] of [
    [0.05, "has served as much as it can"],
    [0.05, "has just started"],
    [0.2, "has served as much as it can"],
    [0.2, "has just started"],
  ] as const) {
    it(`serves most of the time clients that send again at once, where it ${before} and a refusal takes ${refusedMs} ms`, () => {
      const process = new Process({ servedMs: 0.5, refusedMs });
      if (before !== "has just started") process.load(0.95 * CAPACITY, 3);
      // Then for a minute so little that a capacity which is forgotten would be.
      process.load(0.1 * CAPACITY, 60);
      process.again(4_000, 5);
      process.served = 0;
      process.again(4_000, 30);
      expect(process.served / (30 * CAPACITY)).toBeGreaterThan(0.6);
      expect(process.refused).toBeGreaterThan(process.served);
    });
  }

  it("admits less within seconds where requests take longer than those that it knows", () => {
    const process = new Process({ servedMs: 0.1, refusedMs: 0.05 });
    process.load(9_000, 3);
    process.cost = { servedMs: 2, refusedMs: 0.05 };
    process.load(1_000, 20, 4_000);
    process.longestTurnMs = 0;
    process.served = 0;
    process.load(1_000, 20, 4_000);
    expect(process.longestTurnMs).toBeLessThan(200);
    expect(process.served / (20 * 500)).toBeGreaterThan(0.8);
  });

  it("admits of an account that sends all of it no more than of strangers", () => {
    const admitted = (account: AccountId | null): readonly [longestTurnMs: number, served: number] => {
      const process = new Process({ servedMs: 0.5, refusedMs: 0.1 });
      process.loads([{ account, perSecond: 1_800, clients: 4_000 }], 3);
      process.loads([{ account, perSecond: 8_000, clients: 4_000 }], 1);
      process.longestTurnMs = 0;
      process.served = 0;
      process.loads([{ account, perSecond: 8_000, clients: 4_000 }], 20);
      return [process.longestTurnMs, process.served];
    };
    const [turnMs, served] = admitted(ACCOUNT);
    const [strangersTurnMs, strangersServed] = admitted(null);
    expect(turnMs / strangersTurnMs).toBeLessThan(1.1);
    expect(served / strangersServed).toBeLessThan(1.1);
  });

  it("serves everything again within two seconds", () => {
    const process = new Process();
    process.load(3 * CAPACITY, 10);
    process.load(0.5 * CAPACITY, 2);
    process.refused = 0;
    process.load(0.8 * CAPACITY, 10);
    expect(process.refused).toBe(0);
  });

  it("refuses nothing below its capacity", () => {
    const process = new Process();
    process.load(0.95 * CAPACITY, 30);
    expect(process.refused).toBe(0);
  });

  it("refuses nothing of 150 clients that each wait for their answer", () => {
    const process = new Process();
    for (let turn = 0; turn < 1_000; turn++) process.turn(accountsOf(150));
    expect(process.refused).toBe(0);
  });

  it("refuses nothing of a single burst", () => {
    const process = new Process();
    process.load(0.2 * CAPACITY, 1);
    process.turn(accountsOf(2_000));
    process.load(0.2 * CAPACITY, 5);
    expect(process.refused).toBe(0);
  });

  for (const [waiting, forMs, refuses] of [
    [300, 1_000, true],
    [300, 400, false],
    [150, 1_000, false],
  ] as const) {
    it(`refuses ${refuses ? "some" : "nothing"} where ${waiting} requests wait for a later turn for ${forMs} ms, though turns are short`, () => {
      let nowMs = 0;
      const turnShares = { waiting, waitedMs: 80 };
      const overload = new Overload({ monotonicMs: () => nowMs, log: LOG, turnShares });
      let refused = 0;
      for (let tick = 0; tick < forMs / TICK_MS; tick++) {
        nowMs += TICK_MS;
        for (let request = 0; request < 20; request++) {
          if (overload.arrived(() => ACCOUNT) === null) overload.served();
          else refused++;
        }
        overload.tick();
      }
      expect(refused > 0).toBe(refuses);
    });
  }

  describe("that one account sends", () => {
    const other = "other" as AccountId;

    for (const who of [ACCOUNT, null]) {
      it(`refuses nothing of an account that sends little, beside ${who === null ? "strangers" : "another account"}`, () => {
        const process = new Process();
        process.loads([{ account: who, perSecond: 3 * CAPACITY }], 3);
        process.served = 0;
        process.loads(
          [
            { account: who, perSecond: 3 * CAPACITY },
            { account: other, perSecond: 0.05 * CAPACITY },
          ],
          30,
        );
        expect(process.refusedOf.get(other) ?? 0).toBe(0);
        expect(process.refusedOf.get(who)).toBeGreaterThan(0);
        expect(process.served / (30 * CAPACITY)).toBeGreaterThan(0.7);
      });
    }

    it("refuses nothing of a hundred small accounts beside three large ones", () => {
      const process = new Process();
      const large = ["a", "b", "c"].map((name) => ({ account: name as AccountId, perSecond: CAPACITY }));
      const small = Array.from({ length: 100 }, (_, index) => ({
        account: `small ${index}` as AccountId,
        perSecond: 0.002 * CAPACITY,
      }));
      process.loads(large, 3);
      process.loads([...large, ...small], 30);
      expect(small.map(({ account }) => process.refusedOf.get(account) ?? 0)).toEqual(small.map(() => 0));
      const refused = large.map(({ account }) => process.refusedOf.get(account) ?? 0);
      expect(Math.min(...refused)).toBeGreaterThan(0.8 * Math.max(...refused));
    });
  });
});
