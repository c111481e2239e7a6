import { beforeEach, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/accounts/account.ts";
import type { CreditReserve, Hold } from "../../server/src/credits/allowance.ts";
import { Credits } from "../../server/src/credits/credits.ts";

const ACCOUNT = "account" as AccountId;

/** What the database does, in memory, with answers that are slow, late, or lost. */
class Books {
  balance: bigint;
  readonly reserved = new Map<string, bigint>();
  readonly wantedBy = new Set<string>();
  /** How often an answer is lost, after or before the change was made. */
  lossRate = 0;

  constructor(balance: bigint) {
    this.balance = balance;
  }

  reserveOf(node: string): CreditReserve {
    return {
      take: (_, atLeast) =>
        this.#answered(() => {
          const elsewhere = this.#sum((name) => name !== node);
          const free = this.balance - this.#sum(() => true);
          const more = atLeast + free / 10n;
          const taken = free <= 0n ? 0n : free < more ? free : more;
          if (taken < atLeast)
            for (const name of this.reserved.keys()) if (name !== node) this.wantedBy.add(name);
          this.reserved.set(node, (this.reserved.get(node) ?? 0n) + taken);
          return { taken, elsewhere };
        }),
      giveBack: (_, amount) =>
        this.#answered(() => {
          this.#lower(node, amount);
          this.wantedBy.delete(node);
        }),
      giveBackAll: () => this.#answered(() => void this.reserved.delete(node)),
      wanted: async () => (this.wantedBy.has(node) ? new Set([ACCOUNT]) : new Set()),
      renew: async () => {},
      clear: async () => void this.reserved.delete(node),
    };
  }

  charge(node: string, cost: bigint): void {
    this.balance -= cost;
    this.#lower(node, cost);
  }

  #lower(node: string, amount: bigint): void {
    const left = (this.reserved.get(node) ?? 0n) - amount;
    if (left > 0n) this.reserved.set(node, left);
    else this.reserved.delete(node);
  }

  #sum(counts: (node: string) => boolean): bigint {
    let sum = 0n;
    for (const [node, amount] of this.reserved) if (counts(node)) sum += amount;
    return sum;
  }

  async #answered<Answer>(change: () => Answer): Promise<Answer> {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
    if (Math.random() < this.lossRate / 2) throw new Error("lost before it was made");
    const answer = change();
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
    if (Math.random() < this.lossRate / 2) throw new Error("lost after it was made");
    return answer;
  }
}

interface Node {
  readonly name: string;
  readonly credits: Credits;
}

describe("nodes that spend an account's credit", () => {
  let nowMs: number;
  let books: Books;
  let nodes: Node[];

  beforeEach(() => {
    nowMs = 0;
    books = new Books(100_000n);
    nodes = ["a", "b", "c"].map((name) => ({
      name,
      credits: new Credits({ reserve: books.reserveOf(name), monotonicMs: () => nowMs }),
    }));
  });

  /** A request that takes a while, costs at most its hold, and is charged a while later. */
  async function request({ name, credits }: Node, most: bigint): Promise<"spent" | "refused"> {
    let hold: Hold;
    try {
      hold = await credits.hold(ACCOUNT, { leastNanoUsd: most / 2n, mostNanoUsd: most });
    } catch {
      return "refused";
    }
    expect(hold.amountNanoUsd).toBeLessThanOrEqual(most);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    const cost =
      Math.random() < 0.2 ? 0n : (hold.amountNanoUsd * BigInt(Math.ceil(Math.random() * 100))) / 100n;
    hold.settle(cost);
    hold.settle(most);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    if (cost === 0n) return "spent";
    books.charge(name, cost);
    expect(books.balance).toBeGreaterThanOrEqual(0n);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
    credits.charged(new Map([[ACCOUNT, cost]]));
    return "spent";
  }

  async function spendAll(): Promise<number> {
    let isOver = false;
    const tending = (async () => {
      while (!isOver) {
        nowMs += 300;
        await Promise.all(nodes.map(({ credits }) => credits.tend().catch(() => {})));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    let spent = 0;
    const client = async (index: number) => {
      for (let turn = 0; turn < 25; turn++) {
        const node = nodes[(index + turn) % nodes.length];
        if (node !== undefined && (await request(node, BigInt(50 + index))) === "spent") spent++;
      }
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => client(index)));
    isOver = true;
    await tending;
    return spent;
  }

  it.each([2_000n, 20_000n, 100_000n])(
    "never overdraw %s, whatever the order of answers",
    async (balance) => {
      books.balance = balance;
      expect(await spendAll()).toBeGreaterThan(20);
      expect(books.balance).toBeGreaterThanOrEqual(0n);
    },
  );

  it("never overdraw it though answers of the database are lost, and leave nothing set aside", async () => {
    books.lossRate = 0.2;
    expect(await spendAll()).toBeGreaterThan(100);
    expect(books.balance).toBeGreaterThanOrEqual(0n);
    books.lossRate = 0;
    for (let turn = 0; turn < 20; turn++) {
      nowMs += 10_000;
      await Promise.all(nodes.map(({ credits }) => credits.tend()));
    }
    expect([...books.reserved]).toEqual([]);
  });

  it("spend nothing of what they are just giving back", async () => {
    for (let round = 0; round < 20; round++) {
      const small = new Books(100n);
      const [one, other] = ["one", "other"].map(
        (name) => new Credits({ reserve: small.reserveOf(name), monotonicMs: () => nowMs }),
      );
      if (one === undefined || other === undefined) throw new Error("there are no nodes");
      // The first request leaves some set aside for the next, which the other node wants.
      (await one.hold(ACCOUNT, { leastNanoUsd: 10n, mostNanoUsd: 10n })).settle(0n);
      small.wantedBy.add("one");
      const tending = one.tend();
      await new Promise((resolve) => setImmediate(resolve));
      const holding = one.hold(ACCOUNT, { leastNanoUsd: 10n, mostNanoUsd: 10n });
      await tending;
      const own = (await holding).amountNanoUsd;
      const rest = other.hold(ACCOUNT, { leastNanoUsd: 1n, mostNanoUsd: 100n });
      nowMs += 3_000;
      const others = await rest.then(
        (hold) => hold.amountNanoUsd,
        () => small.balance - own,
      );
      expect(own + others).toBeLessThanOrEqual(100n);
    }
  });

  it("spend nothing of what was set aside when they were cut off for long", async () => {
    const [node] = nodes;
    if (node === undefined) throw new Error("there is no node");
    expect(await request(node, 100n)).toBe("spent");
    nowMs += 9.5 * 60_000;
    // Others may have been given it: it is asked for anew.
    books.reserved.clear();
    books.balance = 0n;
    expect(await request(node, 100n)).toBe("refused");
  });
});
