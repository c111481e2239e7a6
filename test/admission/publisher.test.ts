import { expect, it, vi } from "vitest";
import { Publisher } from "../../server/src/admission/publisher.ts";
import type { AccountId } from "../../server/src/contract/account.ts";

const accountOf = (number: number) => String(number).padStart(5, "0") as AccountId;

/** Versions of so many accounts wait, and the store refuses those of accounts that are broken. */
function world(accounts: number) {
  const unpublished = new Set(Array.from({ length: accounts }, (_, number) => accountOf(number)));
  const broken = new Set<AccountId>();
  const tried: AccountId[] = [];
  const publisher = new Publisher(
    {
      publish: async (accountId) => {
        tried.push(accountId);
        // As when another program has written to the account's key in Redis.
        if (broken.has(accountId)) throw new Error("WRONGTYPE");
      },
    },
    {
      list: async (after, limit) => {
        const sorted = [...unpublished].toSorted();
        const later = sorted.filter((id) => after !== null && id > after);
        return [...new Set([...later, ...sorted])]
          .slice(0, limit)
          .map((accountId) => ({ accountId, version: 2n }));
      },
      isPending: async (accountId) => unpublished.has(accountId),
      clear: async (accountId) => void unpublished.delete(accountId),
    },
  );
  return { unpublished, broken, tried, publisher, sweep: () => publisher.sweep().catch(String) };
}

it("an account whose version can't be published does not keep those of other accounts waiting", async () => {
  const { unpublished, broken, publisher, sweep } = world(4);
  for (const number of [0, 2]) broken.add(accountOf(number));
  expect(await sweep()).toMatch("WRONGTYPE");
  expect([...unpublished]).toEqual([accountOf(0), accountOf(2)]);
  expect(publisher.waiting).toBe(2);
  broken.clear();
  expect(await sweep()).toBe(2);
  expect(unpublished.size).toBe(0);
  expect(publisher.waiting).toBe(0);
});

it("nor do more of them than a sweep lists", async () => {
  const { unpublished, broken, sweep } = world(1_200);
  for (const id of unpublished) broken.add(id);
  broken.delete(accountOf(1_199));
  for (let number = 0; number < 120; number++) await sweep();
  expect(unpublished.has(accountOf(1_199))).toBe(false);
});

it("a sweep ends soon when the store is away", async () => {
  const { unpublished, broken, tried, sweep } = world(1_000);
  for (const id of unpublished) broken.add(id);
  await sweep();
  expect(tried).toHaveLength(10);
});

/** Runs a test on a clock that it advances itself. */
async function onFakeClock(run: () => Promise<void>): Promise<void> {
  vi.useFakeTimers();
  try {
    await run();
  } finally {
    vi.useRealTimers();
  }
}

const nothing = async () => {};
const away = async () => {
  throw new Error("connection refused");
};

it("a sweep ends soon, too, when the store takes long to fail", () =>
  onFakeClock(async () => {
    let tries = 0;
    const publisher = new Publisher(
      {
        publish: async () => {
          tries++;
          await new Promise((resolve) => setTimeout(resolve, 900));
          throw new Error("timeout");
        },
      },
      {
        list: async () => [1, 2, 3, 4, 5].map((number) => ({ accountId: accountOf(number), version: 2n })),
        isPending: async () => true,
        clear: nothing,
      },
    );
    const swept = expect(publisher.sweep()).rejects.toThrow("timeout");
    await vi.advanceTimersByTimeAsync(10_000);
    await swept;
    expect(tries).toBe(3);
  }));

it("a change that was published waits no longer, and its time is measured in seconds", () =>
  onFakeClock(async () => {
    const cleared: AccountId[] = [];
    const measured: number[] = [];
    const publisher = new Publisher(
      { publish: () => new Promise((resolve) => setTimeout(resolve, 1_500)) },
      { list: async () => [], isPending: async () => true, clear: async (id) => void cleared.push(id) },
      (seconds) => measured.push(seconds),
    );
    const published = publisher.publish(accountOf(1), 2n);
    await vi.advanceTimersByTimeAsync(1_500);
    await published;
    expect(cleared).toEqual([accountOf(1)]);
    expect(measured).toEqual([1.5]);
    expect(publisher.late).toBe(0);
  }));

it("a change that was published is confirmed, though the database can't be told", () =>
  onFakeClock(async () => {
    const publisher = new Publisher({ publish: nothing }, { list: away, isPending: away, clear: away });
    await publisher.publish(accountOf(1), 2n);
    expect(publisher.late).toBe(0);
  }));

it("a change that another node has published is confirmed, though this node can't reach the store", () =>
  onFakeClock(async () => {
    const publisher = new Publisher(
      { publish: away },
      { list: async () => [], isPending: async () => false, clear: nothing },
    );
    await publisher.publish(accountOf(1), 2n);
    expect(publisher.late).toBe(0);
  }));

it("a change is refused after four seconds when the store does not answer at all", () =>
  onFakeClock(async () => {
    const publisher = new Publisher(
      { publish: () => new Promise(() => {}) },
      { list: async () => [], isPending: async () => true, clear: nothing },
    );
    const refused = expect(publisher.publish(accountOf(1), 2n)).rejects.toMatchObject({
      code: "server_is_overloaded",
    });
    await vi.advanceTimersByTimeAsync(4_000);
    await refused;
    expect(publisher.late).toBe(1);
  }));

it("a change is not confirmed while neither the store nor the database answers", () =>
  onFakeClock(async () => {
    let tries = 0;
    const publish = () => {
      tries++;
      return away();
    };
    const publisher = new Publisher({ publish }, { list: away, isPending: away, clear: away });
    const refused = expect(publisher.publish(accountOf(1), 2n)).rejects.toMatchObject({
      code: "server_is_overloaded",
    });
    await vi.advanceTimersByTimeAsync(4_000);
    await refused;
    expect(publisher.late).toBe(1);
    // The sweep repeats it, and nothing else does.
    const triesUntilRefused = tries;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(tries).toBe(triesUntilRefused);
  }));
