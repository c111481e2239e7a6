import { beforeEach, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { SpenderId } from "../../server/src/contract/ids.ts";
import { Allowance, type Spender } from "../../server/src/credits/allowance.ts";
import { CreditReleases } from "../../server/src/credits/credit-releases.ts";
import type { Ask, AskAnswer, CreditStore } from "../../server/src/credits/credit-store.ts";
import { Credits } from "../../server/src/credits/credits.ts";
import { CreditDatabase } from "../simulation/stores/credit-database.ts";

const USD = 1_000_000_000n;
const IDLE_MS = 10 * 60_000 + 1;

/** A database in which asks of some accounts fail, or wait until they are let go, as if another transaction held their rows. */
class Rows {
  readonly database: CreditDatabase;
  readonly failing = new Set<AccountId>();
  readonly locked = new Set<AccountId>();
  isAway = false;
  /** Whether asks that waited fail in the end. */
  isBroken = false;
  beforeHeartbeat: () => Promise<void> = async () => {};
  beforeAsk: () => void = () => {};
  heartbeats = 0;
  closes = 0;
  /** Asks that are waiting now, and the most that ever were. */
  waiting = 0;
  mostWaiting = 0;
  readonly #letGo: (() => void)[] = [];

  constructor(nowMs: () => number) {
    this.database = new CreditDatabase(nowMs);
  }

  storeOf(nodeId: string): CreditStore {
    const store = this.database.storeOf(nodeId);
    return {
      ...store,
      ask: (ask) => this.#ask(ask, store),
      heartbeat: async (spenders) => {
        if (this.isAway) throw new Error("the database is away");
        this.heartbeats++;
        await this.beforeHeartbeat();
        return store.heartbeat(spenders);
      },
      closeBelow: async (id) => {
        this.closes++;
        return store.closeBelow(id);
      },
    };
  }

  letGo(): void {
    this.locked.clear();
    for (const go of this.#letGo.splice(0)) go();
  }

  async #ask(ask: Ask, store: CreditStore): Promise<AskAnswer> {
    this.beforeAsk();
    if (this.failing.has(ask.accountId)) throw new Error("the row cannot be read");
    if (this.locked.has(ask.accountId)) {
      this.mostWaiting = Math.max(this.mostWaiting, ++this.waiting);
      await new Promise<void>((resolve) => this.#letGo.push(resolve));
      this.waiting--;
      if (this.isBroken) throw new Error("the connection was lost");
    }
    return store.ask(ask);
  }
}

/** An allowance that tells when it is looked at. */
class Watched extends Allowance {
  readonly #onLooked: (id: AccountId) => void;

  constructor(id: AccountId, onLooked: (id: AccountId) => void) {
    super(id, 0);
    this.#onLooked = onLooked;
  }

  override get free(): bigint {
    this.#onLooked(this.accountId);
    return 0n;
  }
}

let nowMs: number;
let rows: Rows;
let credits: Credits;
let owesEntries: boolean;

beforeEach(() => {
  nowMs = 0;
  owesEntries = false;
  rows = new Rows(() => nowMs);
  credits = new Credits({
    store: rows.storeOf("node"),
    monotonicMs: () => nowMs,
    passedMs: () => nowMs,
    maxDisconnectedMs: null,
    owesEntries: () => owesEntries,
  });
});

/** Accounts of each of which the node has reserved credit that no request holds. */
async function accountsWithReserves(count: number): Promise<AccountId[]> {
  const ids = Array.from({ length: count }, () => crypto.randomUUID() as AccountId);
  for (const id of ids) {
    rows.database.grant(id, 10n * USD);
    (await credits.hold(id, { minNanoUsd: USD, maxNanoUsd: USD })).settle(0n);
  }
  return ids;
}

function reservedOf(ids: readonly AccountId[]): number {
  return ids.filter((id) => rows.database.reservedOf(id) > 0n).length;
}

/** Another node needs all credit of accounts, in this order. */
function reclaim(ids: readonly AccountId[]): void {
  const spender = rows.database.open("other");
  for (const accountId of ids) {
    rows.database.ask({ accountId, spender, number: 1n, targetNanoUsd: 10n * USD, extraNanoUsd: 0n });
  }
}

/** The accounts of which the node has been granted credit. */
function ownReserves(ids: readonly AccountId[]): AccountId[] {
  const own = credits.spender === null ? undefined : rows.database.spenders.get(credits.spender);
  return ids.filter((id) => (own?.reserves.get(id)?.granted ?? 0n) > 0n);
}

/** A second of the background jobs. */
async function second(): Promise<void> {
  await credits.renew();
  await credits.releaseReclaimed().catch(() => {});
  await credits.releaseIdle().catch(() => {});
  nowMs += 1_000;
}

describe("a node that stops", () => {
  it("opens no spender when the database answers the heartbeat under way", async () => {
    await credits.open();
    let answer = () => {};
    rows.beforeHeartbeat = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const renewing = credits.renew();
    await credits.stop();
    answer();
    await renewing;
    expect(rows.database.spenders.size).toBe(0);
  });

  it("closes the spender that it is opening", async () => {
    const opening = credits.open();
    await credits.stop();
    await opening;
    expect(rows.database.spenders.size).toBe(0);
  });

  it("and starts again closes its earlier lives only once their charges are in the database", async () => {
    await accountsWithReserves(1);
    const former = credits.spender;
    const next = new Credits({
      store: rows.storeOf("node"),
      monotonicMs: () => nowMs,
      passedMs: () => nowMs,
      maxDisconnectedMs: null,
      owesEntries: () => owesEntries,
    });
    const own = await next.open();
    owesEntries = true;
    await next.closeOlder();
    await next.closeDrained();
    expect([...rows.database.spenders.keys()]).toEqual([former, own]);
    owesEntries = false;
    await next.closeDrained();
    expect([...rows.database.spenders.keys()]).toEqual([own]);
  });

  it("keeps no more reserved than its charges may need while lines of its journal are rejected", async () => {
    const ids = await accountsWithReserves(20);
    const [rejected] = ids as [AccountId];
    const hold = await credits.hold(rejected, { minNanoUsd: USD, maxNanoUsd: USD });
    hold.settle(USD / 4n);
    // Its entry is not charged, because the database refuses it.
    credits.committed([{ spender: hold.spender ?? undefined }]);
    owesEntries = true;
    await credits.stop();
    expect(reservedOf(ids)).toBe(1);
    expect(rows.database.reservedOf(rejected)).toBe(USD / 4n);
    expect(rows.database.spenders.size).toBe(1);
  });
});

describe("the releases of credit that a node does not need", () => {
  it("do not keep the heartbeat waiting, and wait for few accounts at once", async () => {
    const ids = await accountsWithReserves(50);
    nowMs += IDLE_MS;
    for (const id of ids) rows.locked.add(id);
    await credits.renew();
    const releasing = credits.releaseIdle();
    await expect.poll(() => rows.waiting).toBeGreaterThan(0);
    const before = rows.heartbeats;
    await credits.renew();
    await credits.closeDrained();
    expect(rows.heartbeats).toBe(before + 1);
    expect(rows.closes).toBe(1);
    expect(rows.mostWaiting).toBeLessThanOrEqual(2);
    rows.letGo();
    await releasing;
    expect(reservedOf(ids)).toBe(0);
  });

  it("end after a second, and continue where they ended", async () => {
    const ids = await accountsWithReserves(20);
    nowMs += IDLE_MS;
    for (const id of ids) rows.locked.add(id);
    await credits.renew();
    const releasing = credits.releaseIdle();
    await expect.poll(() => rows.waiting).toBeGreaterThan(0);
    nowMs += 1_000;
    const { waiting } = rows;
    rows.letGo();
    await releasing;
    expect(reservedOf(ids)).toBe(20 - waiting);
    await second();
    expect(reservedOf(ids)).toBe(0);
  });

  it("look at a thousand accounts a second, with one reading of the clock, and continue where they ended", async () => {
    const spender = { id: 1n as SpenderId, openedMs: 0, holds: 0, uncommitted: 0 };
    const looked = new Set<AccountId>();
    let readings = 0;
    const ids = Array.from({ length: 2_500 }, () => crypto.randomUUID() as AccountId);
    const allowances = new Map(ids.map((id) => [id, new Watched(id, (lookedAt) => looked.add(lookedAt))]));
    const watched: Spender = { ...spender, allowances };
    const releases = new CreditReleases({
      spenders: () => [watched],
      isCurrent: () => true,
      release: async () => {},
      monotonicMs: () => {
        readings++;
        return 0;
      },
    });
    for (const seen of [1_000, 2_000, 2_500]) {
      await releases.releaseIdle();
      expect([...looked]).toEqual(ids.slice(0, seen));
    }
    expect(readings).toBeLessThan(50);
    // The pass after that begins again.
    looked.clear();
    await releases.releaseIdle();
    expect([...looked]).toEqual(ids.slice(0, 1_000));
  });

  it("fail for some accounts, and not for the others", async () => {
    const ids = await accountsWithReserves(30);
    nowMs += IDLE_MS;
    const failing = ids.slice(0, 10);
    for (const id of failing) rows.failing.add(id);
    for (let passed = 0; passed < 10; passed++) await second();
    expect(reservedOf(ids)).toBe(10);
    rows.failing.clear();
    for (let passed = 0; passed < 2; passed++) await second();
    expect(reservedOf(ids)).toBe(0);
  });

  it("report that one failed", async () => {
    const [id] = await accountsWithReserves(1);
    nowMs += IDLE_MS;
    rows.failing.add(id as AccountId);
    await credits.renew();
    await expect(credits.releaseIdle()).rejects.toThrow("the row cannot be read");
  });

  it("that another node needs do not wait for those of idle credit", async () => {
    const [idle, wanted] = (await accountsWithReserves(2)) as [AccountId, AccountId];
    nowMs += IDLE_MS;
    rows.locked.add(idle);
    // It is in use.
    (await credits.hold(wanted, { minNanoUsd: USD, maxNanoUsd: USD })).settle(0n);
    await credits.renew();
    const releasing = credits.releaseIdle();
    await expect.poll(() => rows.waiting).toBe(1);
    reclaim([wanted]);
    await credits.renew();
    await credits.releaseReclaimed();
    expect(ownReserves([idle, wanted])).toEqual([idle]);
    rows.letGo();
    await releasing;
  });

  it("that another node needs do not wait for one that takes long", async () => {
    const ids = (await accountsWithReserves(4)) as [AccountId, ...AccountId[]];
    const [slow, ...others] = ids;
    rows.locked.add(slow);
    reclaim(ids);
    await credits.renew();
    // It ends though one of its releases does not.
    await credits.releaseReclaimed();
    expect(rows.waiting).toBe(1);
    expect(ownReserves(ids)).toEqual([slow]);
    for (const id of others) (await credits.hold(id, { minNanoUsd: 0n, maxNanoUsd: USD })).settle(0n);
    reclaim(others);
    await credits.renew();
    await credits.releaseReclaimed();
    expect(rows.waiting).toBe(1);
    expect(ownReserves(ids)).toEqual([slow]);
    rows.letGo();
    await expect.poll(() => ownReserves(ids)).toEqual([]);
  });

  it("report that one has failed that took long, and wait for few accounts at once", async () => {
    const ids = await accountsWithReserves(6);
    for (const id of ids) rows.locked.add(id);
    reclaim(ids);
    for (let passed = 0; passed < 3; passed++) {
      await credits.renew();
      await credits.releaseReclaimed();
    }
    expect(rows.mostWaiting).toBe(2);
    rows.isBroken = true;
    rows.letGo();
    const failure = () => credits.releaseReclaimed().then(() => null, String);
    await expect.poll(failure).toContain("the connection was lost");
  });

  it("include what another node needs, though releases of other accounts that it needs fail", async () => {
    const ids = await accountsWithReserves(12);
    for (const id of ids.slice(1)) rows.failing.add(id);
    reclaim(ids.toReversed());
    expect(ownReserves(ids)).toEqual(ids);
    for (let passed = 0; passed < 12; passed++) await second();
    expect(ownReserves(ids)).toEqual(ids.slice(1));
  });

  it("are not begun while the database does not answer, so that the node can serve from its reserves", async () => {
    const ids = await accountsWithReserves(3);
    reclaim(ids.slice(1));
    await credits.renew();
    nowMs += IDLE_MS;
    rows.isAway = true;
    await expect(credits.renew()).rejects.toThrow();
    await credits.releaseReclaimed();
    await credits.releaseIdle();
    expect(ownReserves(ids)).toEqual(ids);
  });

  it("leave what another node needs no longer", async () => {
    const ids = (await accountsWithReserves(1)) as [AccountId];
    reclaim(ids);
    await credits.renew();
    // The database takes a node that asks for more to need it itself.
    rows.database.grant(ids[0], 10n * USD);
    (await credits.hold(ids[0], { minNanoUsd: 0n, maxNanoUsd: 3n * USD })).settle(0n);
    await credits.renew();
    await credits.releaseReclaimed();
    expect(ownReserves(ids)).toEqual(ids);
  });

  it("include all that a replaced spender has reserved, also of accounts in use", async () => {
    const ids = (await accountsWithReserves(2)) as [AccountId, AccountId];
    // While a request is being answered, its spender is not closed.
    const hold = await credits.hold(ids[0], { minNanoUsd: USD, maxNanoUsd: USD });
    nowMs += 25 * 3_600_000;
    (await credits.hold(ids[1], { minNanoUsd: USD, maxNanoUsd: USD })).settle(0n);
    await credits.renew();
    await credits.releaseIdle();
    expect(ids.map((id) => rows.database.reservedOf(id))).toEqual([USD, 0n]);
    hold.settle(0n);
  });

  it("are repeated until an answer has come, and not after it", async () => {
    const [id] = (await accountsWithReserves(1)) as [AccountId];
    rows.failing.add(id);
    nowMs += IDLE_MS;
    await second();
    rows.failing.clear();
    let asks = 0;
    rows.beforeAsk = () => asks++;
    for (let passed = 0; passed < 5; passed++) await second();
    expect({ asks, reserved: rows.database.reservedOf(id) }).toEqual({ asks: 1, reserved: 0n });
  });

  it("keep requests from holding what is being released", async () => {
    const [id] = (await accountsWithReserves(1)) as [AccountId];
    reclaim([id]);
    rows.locked.add(id);
    await credits.renew();
    const releasing = credits.releaseReclaimed();
    await expect.poll(() => rows.waiting).toBe(1);
    expect(credits.holdAtOnce(id, { minNanoUsd: 1n, maxNanoUsd: 1n })).toBeNull();
    rows.letGo();
    await releasing;
  });
});
