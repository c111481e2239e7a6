import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  LOCKED_RETRY_MS,
  PendingEntries,
  type PendingEntry,
} from "../../server/src/audit/pending-entries.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

let pending: PendingEntries;
let recorded: number;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  pending = new PendingEntries();
  recorded = 0;
});

afterEach(() => void vi.useRealTimers());

function add(accountId: AccountId): PendingEntry {
  const added: PendingEntry = {
    entry: auditEntry({ accountId }),
    segments: [1],
    sinceMs: performance.now(),
    number: ++recorded,
    state: "pending",
  };
  pending.add(added);
  return added;
}

function recordBatch(): readonly PendingEntry[] {
  const { entries } = pending.nextBatch();
  for (const entry of entries) entry.state = "recorded";
  pending.remove(entries);
  return entries;
}

const newAccount = () => crypto.randomUUID() as AccountId;

describe("pending entries of locked accounts", () => {
  it("stay behind the earlier ones of their account, and are tried again while there are always others", () => {
    const [locked, other] = [newAccount(), newAccount()];
    const first = add(locked);
    pending.keepApart(new Set([locked]));
    const second = add(locked);
    expect(pending.queued).toBe(0);
    expect(pending.nextBatch()).toEqual({ entries: [first], areLocked: true });
    pending.keepApart(new Set([locked]));
    const third = add(other);
    expect(recordBatch()).toEqual([third]);
    const fourth = add(other);
    vi.advanceTimersByTime(LOCKED_RETRY_MS);
    expect(recordBatch()).toEqual([first]);
    // The account is free: its entries are in the order of recording among the others.
    expect(recordBatch()).toEqual([second, fourth]);
    expect(pending.size).toBe(0);
  });

  it("are the oldest if they were recorded before all others, whichever account was tried last", () => {
    const [one, other] = [newAccount(), newAccount()];
    const first = add(one);
    add(other);
    pending.keepApart(new Set([other]));
    expect(pending.oldest).toBe(first);
    pending.keepApart(new Set([one]));
    expect(pending.oldest).toBe(first);
    add(newAccount());
    expect(pending.oldest).toBe(first);
  });

  it("are tried some accounts at a time, all of them in turn", () => {
    const accounts = Array.from({ length: 30 }, newAccount);
    const all = accounts.map(add);
    pending.keepApart(new Set(accounts));
    const tried = new Set<PendingEntry>();
    for (let attempt = 0; attempt < 2; attempt++) {
      const { entries } = pending.nextBatch();
      // Each may take as long as the database waits for a lock.
      expect(entries.length).toBeLessThan(all.length);
      for (const entry of entries) tried.add(entry);
      pending.keepApart(new Set(entries.map(({ entry }) => entry.accountId)));
    }
    expect(tried).toEqual(new Set(all));
  });
});
