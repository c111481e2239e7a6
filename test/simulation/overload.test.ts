import pino from "pino";
import { describe, expect, it } from "vitest";
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
  readonly #overload = new Overload({ monotonicMs: () => this.nowMs, log: LOG });
  #dueMs = TICK_MS;
  readonly #cost: typeof COST;

  constructor(cost = COST) {
    this.#cost = cost;
  }

  turn(requests: number): void {
    const beganMs = this.nowMs;
    for (let index = 0; index < requests; index++) {
      const isServed = this.#overload.arrived() === null;
      this.nowMs += isServed ? this.#cost.servedMs : this.#cost.refusedMs;
      if (isServed) {
        this.#overload.served();
        this.served++;
      } else this.refused++;
    }
    this.longestTurnMs = Math.max(this.longestTurnMs, this.nowMs - beganMs);
    if (requests === 0) this.nowMs = Math.max(this.nowMs + 1, this.#dueMs);
    if (this.nowMs < this.#dueMs) return;
    this.#overload.tick();
    this.#dueMs = this.nowMs + TICK_MS;
  }

  /** Requests at a steady rate, whether or not earlier ones are answered: each client has at most one under way. */
  load(perSecond: number, seconds: number, clients = Number.POSITIVE_INFINITY): void {
    const endMs = this.nowMs + seconds * 1_000;
    let dueRequests = 0;
    for (let lastMs = this.nowMs; this.nowMs < endMs; ) {
      dueRequests += ((this.nowMs - lastMs) / 1_000) * perSecond;
      lastMs = this.nowMs;
      const requests = Math.min(Math.floor(dueRequests), clients);
      dueRequests -= requests;
      this.turn(requests);
    }
  }
}

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

  it("answers everybody soon where a refusal costs two fifths of an answer", () => {
    const cost = { servedMs: 0.2, refusedMs: 0.08 };
    const perSecond = 9_000;
    // As many as leaves time to refuse the others.
    const servable = (1_000 - perSecond * cost.refusedMs) / (cost.servedMs - cost.refusedMs);
    const process = new Process(cost);
    process.load(4_800, 3, 4_000);
    process.load(perSecond, 5, 4_000);
    process.served = 0;
    process.longestTurnMs = 0;
    process.load(perSecond, 30, 4_000);
    expect(process.longestTurnMs).toBeLessThan(150);
    expect(process.served / (30 * servable)).toBeGreaterThan(0.8);
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
    for (let turn = 0; turn < 1_000; turn++) process.turn(150);
    expect(process.refused).toBe(0);
  });

  it("refuses nothing of a single burst", () => {
    const process = new Process();
    process.load(0.2 * CAPACITY, 1);
    process.turn(2_000);
    process.load(0.2 * CAPACITY, 5);
    expect(process.refused).toBe(0);
  });
});
