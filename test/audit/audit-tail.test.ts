import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PostgresAuditReader } from "../../server/src/audit/audit-reader.ts";
import { AuditTail } from "../../server/src/audit/audit-tail.ts";
import type { AsOf } from "../../server/src/audit/cursor.ts";
import { filterOf } from "../../server/src/audit/filter.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { Reads } from "../../server/src/database/reads.ts";

const ACCOUNT = "a" as AccountId;
/** The minimum interval between two polls, and the one that there is without news. */
const SOON_MS = 100;
const POLL_MS = 1_000;
/** Without news for this long, the caller is asked whether the client is still authorized. */
const QUIET_MS = 5_000;

/** The last batch in the database. */
let head: bigint;
/** The last batch that retention has deleted. */
let removed: bigint;
/** Called while a poll waits for its answer, which is from before. */
let onPoll: () => void;
/** The accounts of each poll. */
let polled: (readonly AccountId[])[];
/** The batches that were read for news: after one, up to another. */
let listed: (readonly [after: bigint, upTo: bigint])[];
let reader: PostgresAuditReader;
let tail: AuditTail;
const MAX_FOLLOWERS = 4;

beforeEach(() => {
  vi.useFakeTimers();
  head = 0n;
  removed = 0n;
  onPoll = () => {};
  polled = [];
  listed = [];
  const read: Partial<PostgresAuditReader> = {
    asOf: async () => head as AsOf,
    heads: async (accounts) => {
      polled.push(accounts);
      const answer = new Map([[ACCOUNT, head as AsOf]]);
      onPoll();
      return answer;
    },
    removed: async () => ({ batches: removed, upTo: null }),
    listRecorded: async (_account, _filter, { after, upTo }) => {
      listed.push([after, upTo]);
      return { entries: [], skipped: 0 };
    },
  };
  reader = read as PostgresAuditReader;
  tail = new AuditTail(reader, new Reads(() => performance.now()), MAX_FOLLOWERS);
});

afterEach(() => {
  vi.useRealTimers();
});

/** Follows the log of the account. `next` begins to wait for news, and tells whether there are some when time has passed. */
async function follow(after: bigint | null = null, followed = tail) {
  const leaving = new AbortController();
  const request = { accountId: ACCOUNT, filter: filterOf({}), after: after as AsOf | null, reader: ACCOUNT };
  const follower = followed.follow(request, leaving.signal);
  if (after === null) await follower.next();
  return {
    leaving,
    next: () => {
      let outcome: unknown = "waiting";
      follower.next().then(
        ({ value, done }) => {
          outcome = done === true ? "ended" : value;
        },
        (error: unknown) => {
          outcome = error;
        },
      );
      return async (ms: number) => {
        await vi.advanceTimersByTimeAsync(ms);
        return outcome;
      };
    },
    end: async () => {
      leaving.abort();
      await follower.return(null);
    },
  };
}

it.each(["during a poll", "right after a poll", "between two polls"])(
  "entries that this node records %s are sent soon",
  async (when) => {
    const record = () => {
      onPoll = () => {};
      head++;
      tail.recorded();
    };
    let polls = 0;
    onPoll = () => {
      polls++;
      if (when === "during a poll") record();
    };
    const leaving = new AbortController();
    const followed = { accountId: ACCOUNT, filter: filterOf({}), after: null, reader: ACCOUNT };
    const follower = tail.follow(followed, leaving.signal);
    await follower.next();
    const news = follower.next();
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(polls).toBe(1);
    if (when === "between two polls") await vi.advanceTimersByTimeAsync(POLL_MS / 2);
    if (when !== "during a poll") record();
    let isTold = false;
    void news.then(() => {
      isTold = true;
    });
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect(isTold).toBe(true);
    expect(await news).toMatchObject({ value: { upTo: 1n } });
    // Then it is polled as before.
    polled = [];
    void follower.next();
    await vi.advanceTimersByTimeAsync(3 * POLL_MS);
    expect(polled.length).toBeGreaterThan(1);
    expect(polled.length).toBeLessThanOrEqual(3);
    leaving.abort();
    await follower.return(null);
  },
);

/** The first news of a follower that has seen the batches up to one. */
async function firstNews(after: bigint | null) {
  const leaving = new AbortController();
  const followed = { accountId: ACCOUNT, filter: filterOf({}), after: after as AsOf | null, reader: ACCOUNT };
  const follower = tail.follow(followed, leaving.signal);
  const { value } = await follower.next();
  leaving.abort();
  await follower.return(null);
  return value;
}

it("a new follower is told its place at once, so that an interruption before the first entry misses none", async () => {
  head = 7n;
  expect(await firstNews(null)).toEqual({ upTo: 7n, entries: [], skipped: 0, hasGap: false });
});

it.each([
  ["has seen all that retention has deleted", 5n, false],
  ["has not seen all that retention has deleted", 4n, true],
  ["has seen more than there is, as before a database was restored", 9n, true],
])("the first news of a follower that %s say whether entries are missing", async (_, after, hasGap) => {
  head = 7n;
  removed = 5n;
  expect(await firstNews(after)).toMatchObject({ upTo: 7n, hasGap });
});

it("news follow each other without gap or repeat, and a gap is told once", async () => {
  head = 2_000n;
  const { next, end } = await follow(999n);
  // A thousand batches are read at most.
  expect(await next()(0)).toMatchObject({ upTo: 2_000n, hasGap: true });
  const later = next();
  expect(await later(2 * POLL_MS)).toBe("waiting");
  head = 2_001n;
  expect(await later(POLL_MS)).toMatchObject({ upTo: 2_001n, hasGap: false });
  head = 2_004n;
  expect(await next()(2 * POLL_MS)).toMatchObject({ upTo: 2_004n, hasGap: false });
  expect(listed).toEqual([
    [1_000n, 2_000n],
    [2_000n, 2_001n],
    [2_001n, 2_004n],
  ]);
  await end();
});

it.each([
  ["a thousand batches ago, and misses none", 1_000n, [1_000n, 2_000n], false],
  ["before retention deleted some", 1_400n, [1_500n, 2_000n], true],
])("a follower that was cut off %s reads what there is", async (_, after, range, hasGap) => {
  head = 2_000n;
  removed = hasGap ? 1_500n : 0n;
  const { next, end } = await follow(after);
  expect(await next()(0)).toMatchObject({ hasGap });
  expect(listed).toEqual([range]);
  await end();
});

it("a follower that was cut off before a restore is told of the gap once, and then where it is", async () => {
  head = 7n;
  const { next, end } = await follow(9n);
  expect(await next()(0)).toEqual({ upTo: 7n, entries: [], skipped: 0, hasGap: true });
  head = 8n;
  expect(await next()(2 * POLL_MS)).toMatchObject({ upTo: 8n, hasGap: false });
  await end();
});

it("a follower that has seen everything waits, and is looked after every five seconds", async () => {
  head = 7n;
  const { next, end } = await follow(7n);
  const quiet = next();
  expect(await quiet(QUIET_MS - 1)).toBe("waiting");
  expect(await quiet(1)).toBeNull();
  expect(listed).toEqual([]);
  await end();
});

it("all followers are served by one poll, once a second, as long as there are some, and also after the database was away", async () => {
  const [one, other] = [await follow(), await follow()];
  const [news, othersNews] = [one.next(), other.next()];
  await vi.advanceTimersByTimeAsync(2 * POLL_MS);
  expect(polled).toEqual([[ACCOUNT], [ACCOUNT]]);
  onPoll = () => {
    throw new Error("the database is away");
  };
  head++;
  expect(await news(POLL_MS)).toBe("waiting");
  onPoll = () => {};
  expect(await news(POLL_MS)).toMatchObject({ upTo: 1n });
  expect(await othersNews(0)).toMatchObject({ upTo: 1n });
  for (const { end } of [one, other]) await end();
  await vi.advanceTimersByTimeAsync(2 * POLL_MS);
  expect(vi.getTimerCount()).toBe(0);
  // Polls begin again for the next one.
  const next = await follow();
  head++;
  expect(await next.next()(2 * POLL_MS)).toMatchObject({ upTo: 2n });
  await next.end();
});

it("many batches cause ten polls a second at most", async () => {
  const { next, end } = await follow();
  for (let times = 0; times < 500; times++) {
    next();
    head++;
    tail.recorded();
    await vi.advanceTimersByTimeAsync(2);
  }
  expect(polled.length).toBeGreaterThan(5);
  expect(polled.length).toBeLessThanOrEqual(POLL_MS / SOON_MS);
  await end();
});

it("a follower that leaves while it waits ends at once, and leaves nothing behind", async () => {
  const { leaving, next } = await follow();
  const news = next();
  await vi.advanceTimersByTimeAsync(POLL_MS / 2);
  leaving.abort();
  expect(await news(0)).toBe("ended");
  expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
  await vi.advanceTimersByTimeAsync(2 * POLL_MS);
  expect(vi.getTimerCount()).toBe(0);
});

it("followers are told to reconnect when the service stops, at once and whether they wait or not, and polls end", async () => {
  const [waiting, busy] = [await follow(), await follow()];
  const news = waiting.next();
  await vi.advanceTimersByTimeAsync(POLL_MS / 2);
  tail.close();
  const stopping = { code: "server_is_overloaded" };
  expect(await news(0)).toMatchObject(stopping);
  expect(await busy.next()(0)).toMatchObject(stopping);
  expect(vi.getTimerCount()).toBe(0);
});

it.each([0, SOON_MS / 2, 2 * SOON_MS, POLL_MS])(
  "polls end soon when the service stops %i ms after one began",
  async (ms) => {
    const { next } = await follow();
    const news = next();
    await vi.advanceTimersByTimeAsync(POLL_MS + ms);
    tail.close();
    expect(await news(0)).toMatchObject({ code: "server_is_overloaded" });
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect(vi.getTimerCount()).toBe(0);
  },
);

it("an account has fifty followers at most, and room for another one when one has left", async () => {
  const large = new AuditTail(reader, new Reads(() => performance.now()));
  const followers = [];
  for (let number = 0; number < 50; number++) followers.push(await follow(null, large));
  await expect(follow(null, large)).rejects.toMatchObject({ code: "too_many_concurrent_requests" });
  await followers.pop()?.end();
  followers.push(await follow(null, large));
  for (const { end } of followers) await end();
});

it("if too many clients follow, those of the account that has the most make room for other accounts", async () => {
  const leaving = new AbortController();
  const begin = async (accountId: string) => {
    const account = accountId as AccountId;
    const followed = { accountId: account, filter: filterOf({}), after: null, reader: account };
    const follower = tail.follow(followed, leaving.signal);
    await follower.next();
    return follower;
  };
  const tooMany = { code: "too_many_concurrent_requests" };
  const ofOne = [await begin("one"), await begin("one"), await begin("one"), await begin("one")];
  const latest = ofOne.pop()?.next();
  const refused = expect(latest).rejects.toMatchObject(tooMany);
  const ofOther = await begin("other");
  await refused;
  await expect(begin("one")).rejects.toMatchObject(tooMany);
  // One with two, and two with one each.
  const ofThird = await begin("third");
  await expect(ofOne.pop()?.next()).rejects.toMatchObject(tooMany);
  await expect(begin("other")).rejects.toMatchObject(tooMany);
  leaving.abort();
  for (const follower of [...ofOne, ofOther, ofThird]) await follower.return(null);
});

it("each client that needs room ends another follower, also if those that were ended have not noticed yet", async () => {
  const leaving = new AbortController();
  const begin = async (accountId: string) => {
    const account = accountId as AccountId;
    const followed = { accountId: account, filter: filterOf({}), after: null, reader: account };
    const follower = tail.follow(followed, leaving.signal);
    await follower.next();
    return follower;
  };
  const ofOne = [await begin("one"), await begin("one"), await begin("one"), await begin("one")];
  const others = [await begin("second"), await begin("third")];
  const ended = ofOne.splice(2);
  for (const follower of ended)
    await expect(follower.next()).rejects.toMatchObject({ code: "too_many_concurrent_requests" });
  leaving.abort();
  for (const follower of [...ofOne, ...others]) expect(await follower.next()).toMatchObject({ done: true });
});
