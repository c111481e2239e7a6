import { describe, expect, it } from "vitest";
import {
  DatabaseEpoch,
  DatabaseEpochEnded,
  type DatabasePosition,
  type PositionInDatabase,
  type PositionInRedis,
} from "../../server/src/admission/database-epoch.ts";

/** A database whose position can be copied, as by a backup. */
class FakeDatabase implements PositionInDatabase {
  position: DatabasePosition;
  /** Called when it has read the position, advanced it or begun an epoch, before it answers. */
  beforeAnswer: (what: "read" | "advance" | "begin") => Promise<void> = async () => {};

  constructor(position: DatabasePosition = { epoch: "", tick: 0n }) {
    this.position = position;
  }

  async read() {
    const { position } = this;
    await this.beforeAnswer("read");
    return position;
  }

  async advance(seen: DatabasePosition | null) {
    const { epoch, tick } = this.position;
    const lacksSeen = seen !== null && seen.epoch === epoch && seen.tick > tick;
    if (!lacksSeen) this.position = { epoch, tick: tick + 1n };
    const { position } = this;
    await this.beforeAnswer("advance");
    return position;
  }

  async begin(epoch: string) {
    if (this.position.epoch === epoch) this.position = { ...this.position, epoch: crypto.randomUUID() };
    await this.beforeAnswer("begin");
  }

  copy(): FakeDatabase {
    return new FakeDatabase(this.position);
  }
}

/** A Redis as nodes share it. */
class FakeRedis {
  stored: DatabasePosition | null = null;
  isAway = false;

  /** A node's connection. */
  connect(): PositionInRedis & { readonly used: () => string | null } {
    let used: string | null = null;
    return {
      used: () => used,
      position: async () => {
        if (this.isAway) throw new Error("Redis did not answer");
        return this.stored;
      },
      moveTo: async (position, from) => {
        await new Promise(setImmediate);
        if (this.isAway) throw new Error("Redis did not answer");
        if (this.stored !== null && this.stored.epoch !== from.epoch) return;
        if (this.stored?.epoch === position.epoch && this.stored.tick >= position.tick) return;
        this.stored = position;
      },
      useEpoch: (epoch) => {
        used = epoch;
      },
    };
  }
}

function nodeOf(database: FakeDatabase, shared: FakeRedis) {
  const redis = shared.connect();
  const fences: string[] = [];
  const epoch = new DatabaseEpoch({
    position: database,
    redis,
    admissions: { fenceApart: (reason) => fences.push(reason) },
  });
  return { epoch, fences, used: redis.used };
}

const alone = async () => false;

/** Repeats what a starting node does, beside what others do meanwhile. @returns the last outcome, and after how many checks. */
async function join({ epoch }: { epoch: DatabaseEpoch }, meanwhile: () => Promise<void> = async () => {}) {
  for (let checks = 1; ; checks++) {
    const joining = await epoch.mayJoin(alone);
    if (joining !== "watching" || checks === 50) return { joining, checks };
    await meanwhile();
  }
}

/** A database in use, its backup, and changes that were published since. */
async function backedUp() {
  const redis = new FakeRedis();
  const original = new FakeDatabase();
  const node = nodeOf(original, redis);
  await join(node);
  await node.epoch.check();
  const backup = original.copy();
  await node.epoch.advance();
  return { redis, original, node, backup };
}

describe("the epoch of a database", () => {
  it("continues over restarts, with an empty Redis, and with an old one", async () => {
    const { redis, original } = await backedUp();
    const old = redis.stored;
    for (const stored of [redis.stored, null, old]) {
      redis.stored = stored;
      const node = nodeOf(original, redis);
      expect(await join(node)).toEqual({ joining: "joined", checks: 1 });
      await node.epoch.check();
      expect(node.used()).toBe("");
      expect(redis.stored).toEqual(original.position);
    }
  });

  it("begins a new epoch for a backup that lacks a single published change, however long its node waits", async () => {
    const { redis, backup } = await backedUp();
    const node = nodeOf(backup, redis);
    const { joining, checks } = await join(node);
    expect(joining).toBe("joined");
    expect(checks).toBeGreaterThan(5);
    expect(node.used()).toBe(backup.position.epoch);
    expect(backup.position.epoch).not.toBe("");
    expect(redis.stored?.epoch).toBe(backup.position.epoch);
  });

  it("continues over restarts after a restore, and its position is in Redis from the start", async () => {
    const { redis, backup } = await backedUp();
    await join(nodeOf(backup, redis));
    const { epoch } = backup.position;
    const node = nodeOf(backup, redis);
    expect(await join(node)).toEqual({ joining: "joined", checks: 1 });
    expect(node.used()).toBe(epoch);
    expect(redis.stored).toEqual(backup.position);
  });

  it("begins beside a Redis that has the data of another database, once that stands still", async () => {
    const redis = new FakeRedis();
    const database = new FakeDatabase({ epoch: "", tick: 9n });
    const foreign = { epoch: "foreign", tick: 1n };
    redis.stored = foreign;
    const node = nodeOf(database, redis);
    const { joining, checks } = await join(node);
    expect(joining).toBe("joined");
    expect(checks).toBeGreaterThan(5);
    expect(database.position.epoch).not.toBe("");
    expect(redis.stored).toEqual(database.position);
    // Whatever moves it, and wherever to, are nodes.
    for (const tick of [2n, 0n]) {
      redis.stored = foreign;
      const next = nodeOf(database, redis);
      const moved = await join(next, async () => {
        redis.stored = { epoch: "foreign", tick };
      });
      expect(moved).toEqual({ joining: "another copy", checks: 2 });
    }
  });

  it("continues although another node advances it while a node joins", async () => {
    const { redis, original, node } = await backedUp();
    original.beforeAnswer = async (what) => {
      if (what === "read") await node.epoch.advance();
    };
    expect(await join(nodeOf(original, redis))).toEqual({ joining: "joined", checks: 1 });
  });

  it("is watched again from the beginning once Redis or the database has another one", async () => {
    const { redis, backup } = await backedUp();
    const [first, second] = [nodeOf(backup, redis), nodeOf(backup, redis)];
    for (let checks = 0; checks < 10; checks++) {
      expect(await first.epoch.mayJoin(alone)).toBe("watching");
      expect(await second.epoch.mayJoin(alone)).toBe("watching");
    }
    // The first node begins an epoch, and the second one looks before Redis has it.
    let inBetween = "";
    backup.beforeAnswer = async (what) => {
      if (what !== "begin") return;
      backup.beforeAnswer = async () => {};
      inBetween = await second.epoch.mayJoin(alone);
    };
    expect(await first.epoch.mayJoin(alone)).toBe("joined");
    expect(inBetween).toBe("watching");
    expect(await second.epoch.mayJoin(alone)).toBe("joined");
    expect(second.used()).toBe(first.used());

    // A Redis that was replaced by another one did not move.
    for (const epoch of ["one", "two"]) {
      redis.stored = { epoch, tick: epoch === "one" ? 1n : 2n };
      for (let checks = 0; checks < 4; checks++) {
        await first.epoch.check();
        expect(redis.stored.epoch).toBe(epoch);
      }
    }
  });

  it("is another one for each restore of the same backup", async () => {
    const { redis, backup } = await backedUp();
    const epochs = new Set<string | null>();
    for (const copy of [backup.copy(), backup.copy(), backup.copy()]) {
      const node = nodeOf(copy, redis);
      await join(node);
      epochs.add(node.used());
    }
    expect(epochs.size).toBe(3);
  });

  it("is one for nodes that start together", async () => {
    const { redis, backup } = await backedUp();
    const nodes = [nodeOf(backup, redis), nodeOf(backup, redis), nodeOf(backup, redis)];
    await Promise.all(nodes.map((node) => join(node)));
    expect(new Set(nodes.map(({ used }) => used())).size).toBe(1);
    for (const { epoch } of nodes) await epoch.check();
  });

  it("is not begun while nodes of the original are running", async () => {
    const { redis, node, backup } = await backedUp();
    const copy = nodeOf(backup, redis);
    expect(await join(copy, () => node.epoch.check())).toMatchObject({ joining: "another copy" });
    await node.epoch.check();
  });

  it("is not begun while other nodes of the database are running, however long Redis does not move", async () => {
    const { redis, backup } = await backedUp();
    const { epoch } = nodeOf(backup, redis);
    for (let checks = 0; checks < 50; checks++)
      expect(await epoch.mayJoin(async () => true)).toBe("watching");
    expect(backup.position.epoch).toBe("");
  });

  it("ends for a node that finds a copy in its place, which it asks before it admits anything", async () => {
    const { redis, node, backup } = await backedUp();
    const copy = nodeOf(backup, redis);
    await join(copy);
    await node.epoch.check();
    expect(node.fences).toHaveLength(1);
    expect(node.epoch.isForeign).toBe(true);
    await copy.epoch.check();
    await expect(node.epoch.check()).rejects.toThrow(DatabaseEpochEnded);
    await copy.epoch.check();
  });

  it("ends for a node whose database goes back right after it has joined", async () => {
    const { redis, original } = await backedUp();
    const node = nodeOf(original, redis);
    const { position } = original.copy();
    await join(node);
    original.position = position;
    redis.stored = null;
    await expect(node.epoch.check()).rejects.toThrow(DatabaseEpochEnded);
  });

  it("goes on although answers of the database arrive in another order, and ends if it goes back to an earlier one", async () => {
    const { redis, original, node } = await backedUp();
    let answer = () => {};
    original.beforeAnswer = () => {
      original.beforeAnswer = async () => {};
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const first = node.epoch.advance();
    await expect.poll(() => original.position.tick).toBe(4n);
    const { position } = original.copy();
    await node.epoch.advance();
    answer();
    await first;
    original.position = position;
    redis.isAway = true;
    await expect(node.epoch.check()).rejects.toThrow(DatabaseEpochEnded);
  });

  it("ends for a node whose database goes back, also while Redis is away", async () => {
    for (const isAway of [false, true]) {
      const { redis, original, node, backup } = await backedUp();
      await node.epoch.check();
      redis.isAway = isAway;
      original.position = backup.position;
      await expect(node.epoch.check()).rejects.toThrow(DatabaseEpochEnded);
    }
  });

  it("ends for a node that stood still while the database went on and back, as Redis is ahead then", async () => {
    const { redis, original, node } = await backedUp();
    const still = nodeOf(original, redis);
    await join(still);
    await node.epoch.check();
    const { position } = original.copy();
    for (let changes = 0; changes < 5; changes++) await node.epoch.advance();
    original.position = position;
    await expect(still.epoch.check()).rejects.toThrow(DatabaseEpochEnded);
  });

  it.each(["check", "advance"] as const)(
    "ends for all nodes, whichever of them finds first that the database went back, and however little: %s",
    async (asks) => {
      for (const lost of [1, 2, 3]) {
        const redis = new FakeRedis();
        const database = new FakeDatabase();
        const publishing = nodeOf(database, redis);
        const others = [nodeOf(database, redis), nodeOf(database, redis)];
        for (const node of [publishing, ...others]) await join(node);
        for (const { epoch } of [publishing, ...others]) await epoch.check();
        const { position } = database.copy();
        for (let changes = 0; changes < lost; changes++) await publishing.epoch.advance();
        database.position = position;
        for (const { epoch } of [...others, publishing])
          await expect(epoch[asks](), `${lost} lost`).rejects.toThrow(DatabaseEpochEnded);
        // A node that starts then finds it, too.
        const next = nodeOf(database, redis);
        await join(next);
        expect(next.used()).not.toBe("");
      }
    },
  );

  it("has ended for good for such a node, however far the restored database goes on", async () => {
    const { original, node, backup } = await backedUp();
    await node.epoch.check();
    original.position = backup.position;
    for (let checks = 0; checks < 10; checks++) {
      await expect(node.epoch.check()).rejects.toThrow(DatabaseEpochEnded);
      expect(node.epoch.isForeign).toBe(true);
    }
  });

  it("lets no node publish a change once the database has gone back or begun another epoch", async () => {
    for (const [goesBack, restart] of [
      [true, async () => {}],
      [true, (database: FakeDatabase) => database.begin("")],
      [false, (database: FakeDatabase) => database.begin("")],
    ] as const) {
      const { original, node, backup } = await backedUp();
      if (goesBack) original.position = backup.position;
      await restart(original);
      await expect(node.epoch.advance()).rejects.toThrow(DatabaseEpochEnded);
      await expect(node.epoch.check()).rejects.toThrow(DatabaseEpochEnded);
    }
  });

  it("outlasts a Redis of another epoch that nobody moves", async () => {
    const { redis, node } = await backedUp();
    // It returns once more, older than before: no node has moved it.
    for (const tick of [1_000n, 900n]) {
      redis.stored = { epoch: "old", tick };
      let checks = 0;
      do {
        await node.epoch.check();
        checks++;
      } while (redis.stored.epoch === "old" && checks < 50);
      expect(checks).toBeGreaterThan(3);
      expect(redis.stored?.epoch).toBe("");
      expect(node.epoch.isForeign).toBe(false);
    }
  });

  it("outlasts a Redis of another epoch that was seen before the start", async () => {
    const { redis, original } = await backedUp();
    const node = nodeOf(original, redis);
    redis.stored = { epoch: "old", tick: 1_000n };
    expect(await node.epoch.mayJoin(alone)).toBe("watching");
    redis.stored = null;
    expect(await node.epoch.mayJoin(alone)).toBe("joined");
    redis.stored = { epoch: "old", tick: 900n };
    await node.epoch.check();
    expect(node.epoch.isForeign).toBe(true);
  });

  it("is in Redis before a change is published", async () => {
    const { redis, original, node } = await backedUp();
    await node.epoch.advance();
    expect(redis.stored).toEqual(original.position);
    redis.isAway = true;
    await expect(node.epoch.advance()).rejects.toThrow("did not answer");
  });

  it("does not depend on Redis while it is away", async () => {
    const { redis, node } = await backedUp();
    redis.isAway = true;
    await node.epoch.check();
    redis.isAway = false;
    await node.epoch.check();
    expect(node.fences).toEqual([]);
  });
});
