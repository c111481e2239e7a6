import { describe, expect, it } from "vitest";
import { Network } from "./world/network.ts";
import { Life, World } from "./world/world.ts";

const STORES = {
  database: { isOrdered: false, timeoutMs: null },
  redis: { isOrdered: true, timeoutMs: 2_000 },
};

/** Some processes that ask a store, wait and ask again; what they see and when. */
async function busyRun(seed: number): Promise<readonly string[]> {
  const world = new World(seed);
  const network = new Network(world, STORES);
  const seen: string[] = [];
  let total = 0;
  for (const name of ["one", "two", "three"]) {
    const life = new Life(name);
    const link = network.wire(name, "database").linkOf(life);
    world.schedule(world.random.between(0, 10), life, async () => {
      for (let round = 0; round < 20; round++) {
        const sum = await link.call("add", () => ++total);
        seen.push(
          `${name} ${sum} ${performance.now()} ${Date.now()} ${Math.random()} ${crypto.randomUUID()}`,
        );
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
      }
    });
  }
  await world.run({ untilMs: 60_000 });
  return seen;
}

describe("a simulated world", () => {
  it("repeats itself with the same seed, and differs with another", async () => {
    const first = await busyRun(7);
    expect(first).toHaveLength(60);
    expect(await busyRun(7)).toEqual(first);
    expect(await busyRun(8)).not.toEqual(first);
  });

  it("runs an hour as fast as a second, and restores the runtime's own clock", async () => {
    const before = [setTimeout, clearTimeout, setInterval, setImmediate, Date, performance.now, Math.random];
    const world = new World(1);
    const fired: number[] = [];
    world.schedule(0, null, () => {
      const timer = setInterval(() => {
        fired.push(performance.now());
        if (fired.length === 3) clearInterval(timer);
      }, 20 * 60_000);
      clearTimeout(setTimeout(() => fired.push(-1), 5));
    });
    await world.run({ untilMs: 2 * 60 * 60_000 });
    expect(fired).toEqual([1_200_000, 2_400_000, 3_600_000]);
    expect(world.nowMs).toBe(2 * 60 * 60_000);
    expect([setTimeout, clearTimeout, setInterval, setImmediate, Date, performance.now, Math.random]).toEqual(
      before,
    );
  });

  it("fails with what its scenario throws, and restores the runtime's own clock", async () => {
    const before = [setTimeout, Date, Error.stackTraceLimit];
    const world = new World(1);
    let isLate = false;
    world.schedule(1, null, () => {
      throw new Error("a fault of the scenario");
    });
    world.schedule(2, null, () => {
      isLate = true;
    });
    await expect(world.run({ untilMs: 10 })).rejects.toThrow("a fault of the scenario");
    expect([setTimeout, Date, Error.stackTraceLimit]).toEqual(before);
    expect(isLate).toBe(false);
  });

  it("lets all promises settle before anything else happens", async () => {
    const world = new World(1);
    const order: string[] = [];
    world.schedule(1, null, async () => {
      for (let turn = 0; turn < 50; turn++) await null;
      order.push("first");
    });
    world.schedule(1, null, () => order.push("second"));
    await world.run({ untilMs: 10 });
    expect(order).toEqual(["first", "second"]);
  });

  it("gives each process its own wall clock, which may be wrong, and all of them the same monotonic time", async () => {
    const world = new World(1);
    const late = new Life("late");
    late.wallClockAheadMs = -5_000;
    const seen: Record<string, number> = {};
    world.schedule(1_000, null, () => {
      seen.right = Date.now();
    });
    world.schedule(1_000, late, () => {
      seen.late = Date.parse(new Date().toISOString());
      seen.monotonic = performance.now();
    });
    await world.run({ untilMs: 2_000 });
    expect((seen.right ?? 0) - (seen.late ?? 0)).toBe(5_000);
    expect(seen.monotonic).toBe(1_000);
  });
});

describe("a simulated process that crashes", () => {
  it("does nothing more: its timers and pending answers are dropped", async () => {
    const world = new World(1);
    const life = new Life("node");
    const link = new Network(world, STORES).wire("node", "database").linkOf(life);
    const done: string[] = [];
    world.schedule(0, life, () => {
      setInterval(() => done.push(`tick ${performance.now()}`), 100);
      void link.call("slow", () => {}).then(() => done.push("answered"));
    });
    world.schedule(0.1, null, () => life.end());
    await world.run({ untilMs: 10_000 });
    expect(done).toEqual([]);
  });

  it("can crash at each of its steps", async () => {
    const ticksBefore = async (step: number) => {
      const world = new World(1);
      const life = new Life("node");
      life.crashAtStep = step;
      let ticks = 0;
      world.schedule(0, life, () => void setInterval(() => ticks++, 100));
      await world.run({ untilMs: 10_000 });
      return ticks;
    };
    // The first step sets the timer.
    expect(await Promise.all([await ticksBefore(1), await ticksBefore(2), await ticksBefore(10)])).toEqual([
      0, 1, 9,
    ]);
  });
});

describe("a simulated connection", () => {
  /** Sends three operations, 5 s apart, while something happens to the wire; what the store and the caller saw. */
  async function overWire(store: keyof typeof STORES, disturb: (network: Network, world: World) => void) {
    const world = new World(3);
    const network = new Network(world, STORES);
    const life = new Life("node");
    const link = network.wire("node", store).linkOf(life);
    const stored: string[] = [];
    const told: string[] = [];
    const closings: number[] = [];
    link.onClosed(() => closings.push(world.nowMs));
    for (const operation of ["a", "b", "c"]) {
      world.schedule(5_000 * "abc".indexOf(operation), life, () => {
        link
          .call(operation, () => stored.push(operation))
          .then(
            () => told.push(operation),
            (error: Error) => told.push(`${operation}: ${error.message}`),
          );
      });
    }
    disturb(network, world);
    await world.run({ untilMs: 20 * 60_000 });
    return { stored, told, closings };
  }

  it("carries requests and their answers", async () => {
    expect(await overWire("redis", () => {})).toEqual({
      stored: ["a", "b", "c"],
      told: ["a", "b", "c"],
      closings: [],
    });
  });

  it("refuses everything while it is cut, with an error for the lost connection", async () => {
    const { stored, told, closings } = await overWire("redis", (network) =>
      network.wire("node", "redis").setState("cut"),
    );
    expect({ stored, told }).toEqual({
      stored: [],
      told: ["a: ECONNREFUSED", "b: ECONNREFUSED", "c: ECONNREFUSED"],
    });
    expect(closings).toHaveLength(1);
  });

  it("delivers what was sent during a stall, even when its callers have given up", async () => {
    const { stored, told } = await overWire("redis", (network, world) => {
      network.wire("node", "redis").setState("stalled");
      world.schedule(60_000, null, () => network.mend());
    });
    expect(told).toEqual(["a: ETIMEDOUT", "b: ETIMEDOUT", "c: ETIMEDOUT"]);
    expect(stored).toEqual(["a", "b", "c"]);
  });

  it("reports nothing to callers while it is silent, until TCP gives up", async () => {
    const { stored, told } = await overWire("database", (network, world) => {
      network.wire("node", "database").setState("silent");
      world.schedule(60_000, null, () => network.mend());
    });
    expect(stored).toEqual([]);
    expect(told).toEqual(["a: ETIMEDOUT", "b: ETIMEDOUT", "c: ETIMEDOUT"]);
  });

  it.each([
    ["request-lost", ["a", "c"], ["a", "b: ECONNRESET", "c"]],
    ["answer-lost", ["a", "b", "c"], ["a", "b: ECONNRESET", "c"]],
    ["request-late", ["a", "c", "b"], ["a", "c", "b"]],
    ["answer-late", ["a", "b", "c"], ["a", "c", "b"]],
    ["request-twice", ["a", "b", "c", "b"], ["a", "b", "c"]],
  ] as const)("does this to one message: %s", async (fate, stored, told) => {
    const hit = await overWire("database", (network) =>
      network.wire("node", "database").faults.add({ operation: "b", skip: 0, fate, byMs: 30_000 }),
    );
    expect(hit).toMatchObject({ stored, told: expect.arrayContaining([...told]) });
    expect(hit.told.at(-1)).toBe(told.at(-1));
  });
});
