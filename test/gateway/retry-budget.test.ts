import { describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { RetryBudget } from "../../server/src/gateway/retry-budget.ts";

const ACCOUNT = "a" as AccountId;
const OTHER = "b" as AccountId;
const THIRD = "c" as AccountId;

/** How many retries of an account are allowed of so many. */
const allowedOf = (budget: RetryBudget, retries: number, account = ACCOUNT) =>
  Array.from({ length: retries }, () => budget.takeRetry(account)).filter((isAllowed) => isAllowed).length;

describe("retries of requests to upstreams", () => {
  it("are ten, and one more for every five first attempts", () => {
    const budget = new RetryBudget(() => 0);
    expect(allowedOf(budget, 100)).toBe(10);
    for (let first = 0; first < 50; first++) budget.countFirst(ACCOUNT);
    expect(allowedOf(budget, 100)).toBe(10);
    for (let first = 0; first < 4; first++) budget.countFirst(ACCOUNT);
    expect(allowedOf(budget, 100)).toBe(0);
    budget.countFirst(ACCOUNT);
    expect(allowedOf(budget, 100)).toBe(1);
  });

  it("of one account leave others theirs: ten, and one for every five of their first attempts", () => {
    const budget = new RetryBudget(() => 0);
    for (let first = 0; first < 100; first++) budget.countFirst(ACCOUNT);
    for (let first = 0; first < 10; first++) budget.countFirst(OTHER);
    for (let first = 0; first < 5; first++) budget.countFirst(THIRD);
    expect(allowedOf(budget, 100)).toBe(30);
    expect(allowedOf(budget, 100, OTHER)).toBe(12);
    expect(allowedOf(budget, 100, THIRD)).toBe(1);
  });

  it("are allowed again when ten seconds have passed, as are those that first attempts of that time allow no more", () => {
    let nowMs = 0;
    const budget = new RetryBudget(() => nowMs);
    for (let first = 0; first < 100; first++) budget.countFirst(ACCOUNT);
    expect(allowedOf(budget, 100)).toBe(30);
    nowMs = 9_999;
    expect(allowedOf(budget, 100)).toBe(0);
    nowMs = 10_000;
    expect(allowedOf(budget, 100)).toBe(10);
  });
});
