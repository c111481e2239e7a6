import { describe, expect, it } from "vitest";
import { outlookOf, outlookOfBalance, spendOf } from "../../dashboard-ui/src/pages/credits/outlook.ts";

const USD = 1_000_000_000n;
const DAY_MS = 24 * 60 * 60_000;
const none = { spentNanoUsd: 0n, todayNanoUsd: 0n, requestNanoUsd: 0n };

describe("the outlook of a balance", () => {
  it.each([0n, -USD])("of %s is empty, whether or not anything was spent", (balanceNanoUsd) => {
    for (const spentNanoUsd of [0n, 7n * USD]) {
      const outlook = outlookOf({ ...none, balanceNanoUsd, spentNanoUsd });
      expect(outlook.state).toBe("empty");
      expect(outlook.words).toContain("402");
    }
  });

  it("is empty without the usage too, and otherwise says that the spend is missing", () => {
    expect(outlookOfBalance(0n, false)?.state).toBe("empty");
    expect(outlookOfBalance(0n, true)?.state).toBe("empty");
    expect(outlookOfBalance(USD, false)).toBeUndefined();
    expect(outlookOfBalance(USD, true)?.words).toBe("The spend of the last 7 days could not be loaded.");
  });

  it("is short from below the cost of an average request on", () => {
    const figures = { ...none, requestNanoUsd: 100n };
    expect(outlookOf({ ...figures, balanceNanoUsd: 99n }).state).toBe("short");
    expect(outlookOf({ ...figures, balanceNanoUsd: 100n }).state).toBe("ample");
  });

  it("is low from below 3 days at the rate of the last 7 on", () => {
    const figures = { ...none, spentNanoUsd: 7n * USD, requestNanoUsd: 1n };
    expect(outlookOf({ ...figures, balanceNanoUsd: 3n * USD - 1n }).state).toBe("low");
    expect(outlookOf({ ...figures, balanceNanoUsd: 3n * USD }).state).toBe("ample");
  });

  it.each([
    [USD / 2n, "less than a day"],
    [USD, "about 1 day"],
    [USD * 2n - 1n, "about 1 day"],
    [USD * 12n, "about 12 days"],
    [USD * 365n, "about 365 days"],
    [USD * 366n, "more than a year"],
  ])("of %s nano-USD at a dollar per day says %s", (balanceNanoUsd, words) => {
    const outlook = outlookOf({ ...none, balanceNanoUsd, spentNanoUsd: 7n * USD });
    expect(outlook.words).toBe(`Lasts ${words} at the average spend of the last 7 days.`);
  });

  it("counts today where it has cost more than an average day", () => {
    const today = outlookOf({ ...none, balanceNanoUsd: 2n * USD, todayNanoUsd: USD });
    expect(today).toEqual({ words: "Lasts about 2 days at today's spend.", state: "low" });
    const usual = outlookOf({ ...none, balanceNanoUsd: 9n * USD, spentNanoUsd: 7n * USD, todayNanoUsd: USD });
    expect(usual.words).toBe("Lasts about 9 days at the average spend of the last 7 days.");
  });

  it("has no rate where nothing was spent", () => {
    const outlook = outlookOf({ balanceNanoUsd: USD, ...none });
    expect(outlook).toEqual({ words: "No spend in the last 7 days.", state: "ample" });
  });
});

describe("the spend that a balance is compared with", () => {
  const today = new Date("2026-03-03T00:00:00Z");
  const dayOf = (ago: number, requests: number, errors: number, costNanoUsd: bigint) => ({
    start: new Date(today.getTime() - ago * DAY_MS),
    requests,
    errors,
    costNanoUsd,
  });

  it("leaves today, which is incomplete, out of the average, and counts it for the cost of a request", () => {
    const days = [dayOf(2, 4, 0, 40n), dayOf(1, 2, 1, 30n), dayOf(0, 5, 0, 130n)];
    expect(spendOf(days, today)).toEqual({ spentNanoUsd: 70n, todayNanoUsd: 130n, requestNanoUsd: 20n });
  });

  it("is nothing without successful requests", () => {
    expect(spendOf([], today)).toEqual(none);
    expect(spendOf([dayOf(0, 3, 3, 0n)], today)).toEqual(none);
  });
});
