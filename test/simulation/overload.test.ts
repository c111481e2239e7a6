import { describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { Overload } from "../../server/src/overload/overload.ts";
import { ACCOUNT, CAPACITY, Crowded, LOG, OTHER, Process, TICK_MS } from "./overloaded/processes.ts";

function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
}

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
    expect(process.longestTurnMs).toBeLessThan(75);
    expect(process.served / (30 * servable)).toBeGreaterThan(0.8);
  });

  for (const [refusedMs, before] of [
    [0.05, "has served as much as it can"],
    [0.05, "has just started"],
    [0.1, "has served as much as it can"],
    [0.2, "has served as much as it can"],
    [0.2, "has just started"],
  ] as const) {
    it(`serves three fifths of its time clients that send again at once, where it ${before} and a refusal takes ${refusedMs} ms`, async () => {
      const process = new Crowded({ servedMs: 0.5, refusedMs }, 4_000);
      if (before !== "has just started") await process.load(0.95 * CAPACITY, 3);
      // Then for a minute so little that a capacity which is forgotten would be.
      await process.load(0.1 * CAPACITY, 60);
      await process.load(20 * CAPACITY, 5);
      await process.load(20 * CAPACITY, 30);
      expect(process.served / (30 * CAPACITY)).toBeGreaterThan(0.58);
      expect(process.refused).toBeGreaterThan(process.served);
      expect(p99(process.servedMs)).toBeLessThan(250);
      expect(process.refusedOfOther).toBe(0);
    });
  }

  for (const [times, refusedMs] of [
    [1.5, 0.08],
    [2, 0.08],
    [2, 0.04],
    [3, 0.04],
  ] as const) {
    it(`has answered everybody soon a few seconds after a crowd came with ${times} times what it can serve, where a refusal takes ${refusedMs} ms`, async () => {
      const process = new Crowded({ servedMs: 0.5, refusedMs }, 4_000);
      await process.load(0.9 * CAPACITY, 3);
      expect(process.refused).toBe(0);
      await process.load(times * CAPACITY, 5);
      await process.load(times * CAPACITY, 20);
      const servable = (1 - times * (refusedMs / 0.5)) / (1 - refusedMs / 0.5);
      expect(process.served / (20 * CAPACITY)).toBeGreaterThan(0.85 * servable);
      expect(p99(process.servedMs)).toBeLessThan(250);
      expect(p99(process.refusedMs)).toBeLessThan(100);
      expect(process.refusedOfOther).toBe(0);
    });
  }

  for (const [cost, burstMs, share] of [
    [{ servedMs: 0.5, refusedMs: 0.05 }, 200, 0.6],
    [{ servedMs: 0.1, refusedMs: 0.01 }, 100, 0.75],
  ] as const) {
    it(`serves what it can of bursts every ${burstMs} ms that it could answer before the next one comes, where an answer takes ${cost.servedMs} ms`, async () => {
      const process = new Crowded(cost, 4_000);
      const capacity = 1_000 / cost.servedMs;
      await process.load(0.9 * capacity, 3);
      await process.load(2 * capacity, 5, burstMs);
      await process.load(2 * capacity, 20, burstMs);
      expect(process.served / (20 * capacity)).toBeGreaterThan(share);
      expect(p99(process.servedMs)).toBeLessThan(300);
      expect(p99(process.refusedMs)).toBeLessThan(100);
    });
  }

  it("lets nothing that it accepts wait for long where more comes all the time", async () => {
    const process = new Crowded({ servedMs: 0.125, refusedMs: 0.03 }, 4_000);
    await process.load(7_000, 3);
    await process.load(16_000, 5);
    await process.load(16_000, 20);
    expect(p99(process.servedMs)).toBeLessThan(75);
    expect(process.served / (20 * 8_000)).toBeGreaterThan(0.6);
  });

  it("refuses soon while it still serves what came before it found the overload", async () => {
    const process = new Crowded({ servedMs: 0.125, refusedMs: 0.03 }, 4_000);
    await process.load(7_000, 3);
    await process.load(16_000, 1);
    expect(process.refused).toBeGreaterThan(process.served);
    expect(p99(process.refusedMs)).toBeLessThan(40);
  });

  it("answers soon again when less comes, though all connections have been refused", async () => {
    const process = new Crowded({ servedMs: 0.5, refusedMs: 0.1 }, 500);
    await process.load(20 * CAPACITY, 10);
    await process.load(0.9 * CAPACITY, 2);
    await process.load(0.9 * CAPACITY, 10);
    expect(p99(process.servedMs)).toBeLessThan(50);
    expect(process.refused).toBe(0);
  });

  for (const times of [1.1, 1.3, 2]) {
    it(`answers soon what it accepts of ${times} times what it can serve, where requests take longer than those that it knows`, async () => {
      const process = new Crowded({ servedMs: 0.25, refusedMs: 0.03 }, 4_000);
      await process.load(1.9 * CAPACITY, 3);
      process.cost = { servedMs: 0.5, refusedMs: 0.05 };
      await process.load(times * CAPACITY, 8);
      await process.load(times * CAPACITY, 10);
      expect(p99(process.servedMs)).toBeLessThan(250);
      expect(p99(process.refusedMs)).toBeLessThan(100);
      expect(process.refusedOfOther).toBe(0);
      expect(process.served / (10 * CAPACITY)).toBeGreaterThan(0.8);
    });
  }

  for (const clients of [20, 64, 150]) {
    it(`refuses nothing of ${clients} clients that each wait for their answer, a second after an overload with slower requests`, async () => {
      // What it knows of its best is then half of what it can.
      const process = new Crowded({ servedMs: 0.5, refusedMs: 0.05 }, 4_000);
      await process.load(2 * CAPACITY, 10);
      process.cost = { servedMs: 0.2, refusedMs: 0.02 };
      // What it has accepted is answered, but it has not recovered yet.
      await process.load(0, 0.5);
      process.leave(clients);
      await process.load(100 * CAPACITY, 1);
      await process.load(100 * CAPACITY, 5);
      expect(process.refused).toBe(0);
      expect(process.served).toBeGreaterThan((0.9 * 5_000) / 0.2);
    });
  }

  it("accepts less within seconds where requests take longer than those that it knows", () => {
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

  it("accepts of an account that sends all of it no more than of strangers", () => {
    const accepted = (account: AccountId | null): readonly [longestTurnMs: number, served: number] => {
      const process = new Process({ servedMs: 0.5, refusedMs: 0.1 });
      process.loads([{ account, perSecond: 1_800, clients: 4_000 }], 3);
      process.loads([{ account, perSecond: 8_000, clients: 4_000 }], 1);
      process.longestTurnMs = 0;
      process.served = 0;
      process.loads([{ account, perSecond: 8_000, clients: 4_000 }], 20);
      return [process.longestTurnMs, process.served];
    };
    const [turnMs, served] = accepted(ACCOUNT);
    const [strangersTurnMs, strangersServed] = accepted(null);
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

  for (const stallMs of [100, 200, 400, 800]) {
    it(`refuses nothing at half of its capacity after the system has stopped it for ${stallMs} ms`, async () => {
      const process = new Crowded({ servedMs: 0.125, refusedMs: 0.03 }, 4_000);
      await process.load(4_000, 3);
      for (let stall = 0; stall < 10; stall++) {
        process.stall(stallMs);
        await process.load(4_000, 3);
        expect(process.refused).toBe(0);
      }
    });
  }

  for (const [waiting, changes, forMs, refuses] of [
    [300, 0, 1_000, true],
    [300, 0, 400, false],
    [300, 10, 400, true],
    [300, 1, 400, false],
    [600, -4, 1_400, false],
    [900, -4, 2_000, true],
    [150, 0, 1_000, false],
  ] as const) {
    it(`refuses ${refuses ? "some" : "nothing"} where ${waiting} requests wait for a later turn, and ${changes} more after each tick, for ${forMs} ms, though turns are short`, () => {
      let nowMs = 0;
      const turnShares = {
        waiting: waiting as number,
        waitedMs: 80,
        waitingOf: () => waiting as number,
        mayTurnsBeLong: false,
      };
      const overload = new Overload({ monotonicMs: () => nowMs, log: LOG, turnShares });
      let refused = 0;
      for (let tick = 0; tick < forMs / TICK_MS; tick++) {
        nowMs += TICK_MS;
        turnShares.waiting += changes;
        for (let request = 0; request < 20; request++) {
          if (overload.refusalOnArrival(() => ACCOUNT, true) === null) overload.served();
          else refused++;
        }
        overload.tick();
      }
      expect(refused > 0).toBe(refuses);
    });
  }

  it("refuses nothing of a client that waits for its answers, though nothing of a crowd has been served yet", () => {
    let nowMs = 0;
    const turnShares = { waiting: 2_000, waitedMs: 300, waitingOf: () => 0, mayTurnsBeLong: false };
    const overload = new Overload({ monotonicMs: () => nowMs, log: LOG, turnShares });
    for (; !overload.isOverloaded; nowMs += TICK_MS) {
      for (let request = 0; request < 200; request++) overload.refusalOnArrival(() => ACCOUNT, true);
      overload.tick();
    }
    for (let answer = 0; answer < 10; answer++) {
      for (let request = 0; request < 200; request++) overload.refusalOnArrival(() => ACCOUNT, true);
      expect(overload.refusalOnArrival(() => OTHER, false)).toBe(null);
      nowMs += TICK_MS;
      overload.tick();
    }
  });

  describe("that one account sends", () => {
    for (const who of [ACCOUNT, null]) {
      it(`refuses nothing of an account that sends little, beside ${who === null ? "strangers" : "another account"}`, () => {
        const process = new Process();
        process.loads([{ account: who, perSecond: 3 * CAPACITY }], 3);
        process.served = 0;
        process.loads(
          [
            { account: who, perSecond: 3 * CAPACITY },
            { account: OTHER, perSecond: 0.05 * CAPACITY },
          ],
          30,
        );
        expect(process.refusedOf.get(OTHER) ?? 0).toBe(0);
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
