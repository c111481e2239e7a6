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

/** The last batch in the database. */
let head: bigint;
/** The last batch that retention has deleted. */
let removed: bigint;
/** Called while a poll waits for its answer, which is from before. */
let onPoll: () => void;
let tail: AuditTail;
const MAX_FOLLOWERS = 4;

beforeEach(() => {
  vi.useFakeTimers();
  head = 0n;
  removed = 0n;
  onPoll = () => {};
  const reader: Partial<PostgresAuditReader> = {
    asOf: async () => head as AsOf,
    heads: async () => {
      const answer = new Map([[ACCOUNT, head as AsOf]]);
      onPoll();
      return answer;
    },
    removed: async () => ({ batches: removed, upTo: null }),
    listRecorded: async () => ({ entries: [], skipped: 0 }),
  };
  tail = new AuditTail(reader as PostgresAuditReader, new Reads(() => performance.now()), MAX_FOLLOWERS);
});

afterEach(() => {
  vi.useRealTimers();
});

it.each(["during a poll", "right after a poll"])(
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
    if (when === "right after a poll") record();
    let isTold = false;
    void news.then(() => {
      isTold = true;
    });
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect(isTold).toBe(true);
    expect(await news).toMatchObject({ value: { upTo: 1n } });
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
