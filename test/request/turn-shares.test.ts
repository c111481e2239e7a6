import { describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { TurnShares } from "../../server/src/overload/turn-shares.ts";

const HEAVY = "heavy" as AccountId;
const OTHER = "other" as AccountId;

/** An event loop with a clock of its own. */
class Loop {
  nowMs = 0;
  /** Requests in the order in which they began: their account, and the turn. */
  readonly begun: (readonly [AccountId, turn: number])[] = [];
  turns = 0;
  #ends: (() => void)[] = [];
  readonly shares = new TurnShares(
    () => this.nowMs,
    (run) => this.#ends.push(run),
  );

  /** Requests of an account that have arrived in this turn, each of which takes so long from when it begins. */
  arrive(account: AccountId, count: number, eachMs: number, bytes = 100): void {
    for (let index = 0; index < count; index++) {
      const wait = this.shares.begin(account, bytes);
      const begin = () => {
        this.begun.push([account, this.turns]);
        this.nowMs += eachMs;
      };
      if (wait === null) begin();
      else void wait.then(begin);
    }
  }

  async endTurn(): Promise<void> {
    this.turns++;
    for (const end of this.#ends.splice(0)) end();
    // What was resumed goes on before the next turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  async untilIdle(maxTurns: number): Promise<void> {
    for (let turn = 0; turn < maxTurns && (this.shares.waiting > 0 || this.#ends.length > 0); turn++)
      await this.endTurn();
    expect(this.shares.waiting).toBe(0);
  }

  turnsOf(account: AccountId): number[] {
    return this.begun.filter(([each]) => each === account).map(([, turn]) => turn);
  }
}

describe("shares of a turn", () => {
  it("let requests begin at once that take less than two milliseconds together, once it is known what they take", async () => {
    const loop = new Loop();
    for (let turn = 0; turn < 20; turn++) {
      loop.arrive(HEAVY, 5, 0.1);
      await loop.endTurn();
    }
    loop.begun.length = 0;
    loop.arrive(HEAVY, 15, 0.1);
    expect(loop.begun).toHaveLength(15);
    expect(loop.shares.waiting).toBe(0);
    loop.arrive(HEAVY, 15, 0.1);
    expect(loop.shares.waiting).toBeGreaterThan(5);
    loop.arrive(OTHER, 15, 0.1);
    expect(loop.turnsOf(OTHER)).toHaveLength(15);
  });

  it("let no two long requests of an account begin in a turn, and those of others at once", async () => {
    const loop = new Loop();
    loop.arrive(HEAVY, 8, 9, 1_000_000);
    loop.arrive(OTHER, 1, 0.1);
    expect(loop.begun).toEqual([
      [HEAVY, 0],
      [OTHER, 0],
    ]);
    await loop.untilIdle(500);
    expect(new Set(loop.turnsOf(HEAVY)).size).toBe(8);
  });

  it("begin as many of those that wait as fit in two milliseconds, once it is known what they take", async () => {
    const loop = new Loop();
    loop.arrive(HEAVY, 1_000, 0.1);
    await loop.untilIdle(200);
    const turns = loop.turnsOf(HEAVY);
    expect(turns).toHaveLength(1_000);
    expect(turns.filter((turn) => turn === 30).length).toBeGreaterThan(10);
    expect(turns.filter((turn) => turn === 30).length).toBeLessThanOrEqual(20);
  });

  it("leave some turns to others after a long request, and no more than some", async () => {
    const loop = new Loop();
    loop.arrive(HEAVY, 3, 9, 1_000_000);
    await loop.untilIdle(500);
    const [first = 0, second = 0, third = 0] = loop.turnsOf(HEAVY);
    expect(second - first).toBeGreaterThan(3);
    expect(third - second).toBeLessThan(200);
  });

  it("keep the order of an account's requests, also of those that come while others wait", async () => {
    const loop = new Loop();
    const order: number[] = [];
    const arrive = (id: number) => {
      const wait = loop.shares.begin(HEAVY, 1_000_000);
      const begin = () => {
        order.push(id);
        loop.nowMs += 3;
      };
      if (wait === null) begin();
      else void wait.then(begin);
    };
    for (let id = 0; id < 4; id++) arrive(id);
    await loop.endTurn();
    for (let id = 4; id < 8; id++) arrive(id);
    await loop.untilIdle(500);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("go to the accounts that wait by turns, however many requests each has", async () => {
    const loop = new Loop();
    loop.arrive(HEAVY, 30, 5, 500_000);
    loop.arrive(OTHER, 3, 5, 500_000);
    await loop.untilIdle(2_000);
    // Of each account one begins at once, and then one after the other.
    expect(loop.begun.slice(0, 7).filter(([account]) => account === OTHER)).toHaveLength(3);
  });

  it("let requests that wait go on while hundreds of accounts begin small ones in each turn", async () => {
    const loop = new Loop();
    loop.arrive(HEAVY, 4, 5, 1_000_000);
    for (let turn = 0; turn < 500 && loop.shares.waiting > 0; turn++) {
      for (let index = 0; index < 200; index++) loop.arrive(`other ${index}` as AccountId, 1, 0.05);
      await loop.endTurn();
    }
    expect(loop.turnsOf(HEAVY)).toHaveLength(4);
  });

  it("report how many requests wait, and how long", async () => {
    const loop = new Loop();
    expect(loop.shares.waitedMs).toBe(0);
    loop.arrive(HEAVY, 3, 5, 1_000_000);
    expect(loop.shares.waiting).toBe(2);
    loop.nowMs += 10;
    expect(loop.shares.waitedMs).toBe(10);
    await loop.untilIdle(500);
    expect(loop.shares.waitedMs).toBe(0);
  });
});
