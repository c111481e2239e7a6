import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { Reads } from "../../server/src/database/reads.ts";
import { Failure, Unavailable } from "../../server/src/errors/failure.ts";
import { RequestAbort } from "../../server/src/errors/request-signal.ts";

const [A, B, C] = ["a", "b", "c"] as AccountId[] as [AccountId, AccountId, AccountId];

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Reads on a clock of its own, each part of which takes as long as is said. */
function world() {
  const reads = new Reads(() => performance.now());
  const order: string[] = [];
  let running = 0;
  let maxRunning = 0;
  const part = (name: string, ms: number) => async () => {
    order.push(name);
    maxRunning = Math.max(maxRunning, ++running);
    await new Promise((resolve) => setTimeout(resolve, ms));
    running--;
  };
  const read = (reader: AccountId, ms: number, parts = 1) =>
    reads.whole(reader, async ({ run }) => {
      for (let at = 0; at < parts; at++) await run(part(reader, ms));
    });
  return { reads, read, part, order, maxRunning: () => maxRunning };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "done",
    (error: unknown) => (error instanceof Failure ? error.code : String(error)),
  );
}

describe("reads of several accounts", () => {
  it("are served in turns, whichever account asked first and however often", async () => {
    const { read, order, maxRunning } = world();
    // Some of them wait for longer than a read may.
    const flood = Promise.allSettled(Array.from({ length: 20 }, () => read(A, 100, 10)));
    const others = [read(B, 100, 3), read(C, 100, 3)];
    const ofOthers = Promise.all(others);
    await vi.advanceTimersByTimeAsync(100);
    // All others' turns come within a few rounds.
    await vi.advanceTimersByTimeAsync(600);
    await ofOthers;
    expect(maxRunning()).toBe(3);
    expect(order.filter((name) => name === A).length).toBeLessThan(20);
    await vi.runAllTimersAsync();
    await flood;
  });

  it("are refused when too many wait, and only those of the account that sends so many", async () => {
    const { reads, read } = world();
    const codes = Promise.all(Array.from({ length: 120 }, () => codeOf(read(A, 10))));
    const other = codeOf(read(B, 10));
    await vi.runAllTimersAsync();
    expect((await codes).filter((code) => code === "done")).toHaveLength(22);
    expect((await codes).filter((code) => code === "rate_limit_exceeded")).toHaveLength(98);
    expect(await other).toBe("done");
    expect(reads.refused.get("waiting")).toBe(98);
    expect(reads.waiting).toBe(0);
  });

  it("are refused when their turn does not come in time", async () => {
    const { read } = world();
    const codes = Promise.all(Array.from({ length: 4 }, () => codeOf(read(A, 11_000))));
    await vi.runAllTimersAsync();
    expect(await codes).toEqual(["done", "done", "rate_limit_exceeded", "rate_limit_exceeded"]);
  });
});

describe("reads that wait", () => {
  it("fail as soon as the database has not answered an earlier one, and those that come later are tried", async () => {
    const { reads } = world();
    const silent = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      throw new Unavailable("no answer");
    };
    const startMs = performance.now();
    const failedMs = (reader: AccountId) =>
      reads
        .whole(reader, ({ run }) => run(silent))
        .then(
          () => "answered",
          (error: unknown) => (error instanceof Unavailable ? performance.now() - startMs : String(error)),
        );
    const all = Promise.all([A, A, A, A, A, A, B, B, B, C, C].map(failedMs));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await all).toEqual(Array(11).fill(5_000));
    expect(await codeOf(reads.whole(A, ({ run }) => run(async () => {})))).toBe("done");
  });

  it("go on after a statement that took too long", async () => {
    const { reads } = world();
    const slow = async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      throw Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });
    };
    const first = codeOf(reads.whole(A, ({ run }) => run(slow)));
    const others = Promise.all(
      [A, A, B].map((reader) => codeOf(reads.whole(reader, ({ run }) => run(async () => {})))),
    );
    await vi.runAllTimersAsync();
    expect(await first).toContain("canceling statement");
    expect(await others).toEqual(["done", "done", "done"]);
  });
});

describe("a read whose reader has left", () => {
  /** Reads until `abort` is called. */
  function leaving({ reads, part }: ReturnType<typeof world>, name: AccountId, ms: number, parts = 1) {
    const signal = new RequestAbort();
    const outcome = codeOf(
      reads.whole({ name, signal }, async ({ run }) => {
        for (let at = 0; at < parts; at++) await run(part("left", ms));
      }),
    );
    return { outcome, abort: () => signal.abort("client_gone") };
  }

  it("gives its place in the queue to the next at once, and runs nothing", async () => {
    const here = world();
    const running = [here.read(A, 5_000), here.read(A, 5_000)];
    const left = Array.from({ length: 20 }, () => leaving(here, A, 10));
    expect(await codeOf(here.read(A, 10))).toBe("rate_limit_exceeded");
    for (const { abort } of left) abort();
    expect(here.reads.waiting).toBe(1);
    expect(await Promise.all(left.map(({ outcome }) => outcome))).toEqual(
      Array.from({ length: 20 }, () => String(new Unavailable("the read was left"))),
    );
    const next = codeOf(here.read(A, 10));
    await vi.runAllTimersAsync();
    await Promise.all(running);
    expect(await next).toBe("done");
    expect(here.order).not.toContain("left");
    expect(here.reads.waiting).toBe(0);
    expect(here.reads.refused.get("waiting")).toBe(1);
  });

  it("begins no further part, and gives back its turn", async () => {
    const here = world();
    const { outcome, abort } = leaving(here, A, 100, 10);
    await vi.advanceTimersByTimeAsync(150);
    abort();
    await vi.runAllTimersAsync();
    expect(await outcome).toContain("the read was left");
    expect(here.order).toEqual(["left", "left"]);
    const next = here.read(A, 10);
    await vi.runAllTimersAsync();
    await next;
    expect(here.reads.waiting).toBe(0);
  });

  it("that had left before it was asked for is not begun", async () => {
    const { reads, order, part } = world();
    const signal = new RequestAbort();
    signal.abort("client_gone");
    const outcome = codeOf(reads.whole({ name: A, signal }, ({ run }) => run(part("left", 10))));
    await vi.runAllTimersAsync();
    expect(await outcome).toContain("the read was left");
    expect(order).toEqual([]);
  });
});

describe("the parts of one account's reads", () => {
  it("take about half of the time, whatever the budget, and those of others do not wait for their rests", async () => {
    const { reads, read } = world();
    let busyMs = 0;
    let isOver = false;
    const part = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (!isOver) busyMs += 50;
    };
    const users = Array.from({ length: 4 }, async () => {
      const exported = reads.stream(A);
      while (!isOver) await exported.run(part);
      exported.end();
    });
    await vi.advanceTimersByTimeAsync(10_000);
    isOver = true;
    expect(busyMs).toBeGreaterThan(3_000);
    expect(busyMs).toBeLessThan(5_600);
    expect(await codeOf(Promise.all([read(B, 0), vi.advanceTimersByTimeAsync(0)]))).toBe("done");
    await vi.runAllTimersAsync();
    await Promise.all(users);
  });

  it("run one at a time, but for a part that takes long", async () => {
    const { read, maxRunning } = world();
    const short = [read(A, 100, 3), read(A, 100, 3)];
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all(short);
    expect(maxRunning()).toBe(1);
    const long = [read(A, 5_000), read(A, 100)];
    await vi.advanceTimersByTimeAsync(2_000);
    expect(maxRunning()).toBe(2);
    await vi.runAllTimersAsync();
    await Promise.all(long);
  });

  it("rest however short they are, as the node works for each", async () => {
    const { read } = world();
    let reads = 0;
    let isOver = false;
    const again = async (): Promise<void> => {
      await read(A, 1);
      reads++;
      if (!isOver) await again();
    };
    const all = again();
    await vi.advanceTimersByTimeAsync(10_000);
    isOver = true;
    await vi.runAllTimersAsync();
    await all;
    expect(reads).toBeLessThan(1_200);
  });

  it("do not rest while the account reads little", async () => {
    const { read } = world();
    const startMs = performance.now();
    const page = read(A, 20, 10);
    await vi.runAllTimersAsync();
    await page;
    expect(performance.now() - startMs).toBeLessThan(260);
  });
});

describe("an account's budget of read time", () => {
  it("is spent by its reads, and refills within a minute", async () => {
    const { read } = world();
    const long = read(A, 29_000);
    await vi.advanceTimersByTimeAsync(29_000);
    await long;
    // 29 seconds took 14.5 of them back: what is left is enough to begin.
    const second = read(A, 60_000);
    await vi.advanceTimersByTimeAsync(60_000);
    await second;
    const refused = await read(A, 1).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "rate_limit_exceeded" });
    const { retryAfterMs } = refused as Failure;
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(62_000);
    expect(await codeOf(Promise.all([read(B, 0), vi.advanceTimersByTimeAsync(0)]))).toBe("done");
    await vi.advanceTimersByTimeAsync(retryAfterMs ?? 0);
    const after = codeOf(read(A, 1));
    await vi.runAllTimersAsync();
    expect(await after).toBe("done");
  });

  it("is not spent while the database is unreachable", async () => {
    const { reads } = world();
    for (let at = 0; at < 10; at++) {
      const away = codeOf(
        reads.whole(A, ({ run }) =>
          run(async () => {
            await new Promise((resolve) => setTimeout(resolve, 5_000));
            throw new Unavailable("away");
          }),
        ),
      );
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await away).toContain("away");
    }
  });

  it("is waited for by exports, of which a few may run concurrently", async () => {
    const { reads, part } = world();
    const streams = Array.from({ length: 5 }, () => reads.stream(A));
    expect(() => reads.stream(A)).toThrow(Failure);
    expect(() => reads.stream(B)).not.toThrow();
    const started = performance.now();
    const [stream] = streams;
    let hasEnded = false;
    const all = (async () => {
      for (let page = 0; page < 60; page++) await stream?.run(part("page", 1_000));
      hasEnded = true;
    })();
    while (!hasEnded) await vi.advanceTimersByTimeAsync(1_000);
    await all;
    // A minute of the database's time: half of it there was, and what came meanwhile.
    expect(performance.now() - started).toBeGreaterThanOrEqual(60_000);
    for (const each of streams) each.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(() => reads.stream(A)).not.toThrow();
  });

  it("counts an export until it has ended, however slowly its client reads what it has got", async () => {
    const { reads } = world();
    const streams = Array.from({ length: 5 }, () => reads.stream(A));
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(() => reads.stream(A)).toThrow(Failure);
    const [ended] = streams;
    ended?.end();
    ended?.end();
    expect(() => reads.stream(A)).not.toThrow();
    expect(() => reads.stream(A)).toThrow(Failure);
  });

  it("does not count an export that has ended, and reads nothing more for it", async () => {
    const { reads, part, order } = world();
    const streams = Array.from({ length: 5 }, () => reads.stream(A));
    const codes = streams.map((stream, at) => codeOf(stream.run(part(`page of ${at}`, 900))));
    await vi.advanceTimersByTimeAsync(1);
    for (const stream of streams) stream.end();
    expect(() => reads.stream(A)).not.toThrow();
    expect(await Promise.all(codes)).toEqual(Array(5).fill("Unavailable: the read was left"));
    const later = reads.stream(A).run(part("a later page", 100));
    await vi.runAllTimersAsync();
    await later;
    // The database is reading the first one's page.
    expect(order).toEqual(["page of 0", "a later page"]);
    expect(await codeOf(streams[0]?.run(part("a page after the end", 100)) ?? later)).toContain("was left");
  });
});
