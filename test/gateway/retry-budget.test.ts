import { describe, expect, it } from "vitest";
import { RetryBudget } from "../../server/src/gateway/retry-budget.ts";

/** How many retries are allowed of so many. */
const allowedOf = (budget: RetryBudget, retries: number) =>
  Array.from({ length: retries }, () => budget.takeRetry()).filter((isAllowed) => isAllowed).length;

describe("retries of requests to upstreams", () => {
  it("are ten, and one more for every five first attempts", () => {
    const budget = new RetryBudget(() => 0);
    expect(allowedOf(budget, 100)).toBe(10);
    for (let first = 0; first < 50; first++) budget.countFirst();
    expect(allowedOf(budget, 100)).toBe(10);
    for (let first = 0; first < 4; first++) budget.countFirst();
    expect(allowedOf(budget, 100)).toBe(1);
    budget.countFirst();
    expect(allowedOf(budget, 100)).toBe(0);
  });

  it("are allowed again when ten seconds have passed, as are those that first attempts of that time allow no more", () => {
    let nowMs = 0;
    const budget = new RetryBudget(() => nowMs);
    for (let first = 0; first < 100; first++) budget.countFirst();
    expect(allowedOf(budget, 100)).toBe(30);
    nowMs = 9_999;
    expect(allowedOf(budget, 100)).toBe(0);
    nowMs = 10_000;
    expect(allowedOf(budget, 100)).toBe(10);
  });
});
