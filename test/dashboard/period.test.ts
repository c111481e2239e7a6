import { describe, expect, it } from "vitest";
import { daysOf, periodOf } from "../../dashboard-ui/src/pages/usage/period.ts";
import { readUsageSearch } from "../../dashboard-ui/src/pages/usage/search.ts";

const NOW = new Date("2026-03-10T15:00:00Z");
const custom = (from: string, to: string) => periodOf({ range: "custom", from, to }, NOW);

describe("a period of usage", () => {
  it("of a preset ends with the current interval, and is compared up to the same point", () => {
    const { span, starts, before, words } = periodOf({ range: "7d" }, NOW);
    expect(starts).toHaveLength(7);
    expect(span).toMatchObject({ from: new Date("2026-03-04"), to: new Date("2026-03-11"), timeZone: "UTC" });
    expect(before).toMatchObject({ from: new Date("2026-02-25"), to: new Date("2026-03-03T15:00Z") });
    expect(words).toBe("the last 7 days");
  });

  it("that is chosen has whole days, and is shown by hour, day or month as it is long", () => {
    const week = custom("2026-02-01", "2026-02-07");
    expect(week.span).toMatchObject({
      from: new Date("2026-02-01"),
      to: new Date("2026-02-08"),
      interval: "day",
    });
    expect(week.starts).toHaveLength(7);
    expect(week.before).toMatchObject({ from: new Date("2026-01-25"), to: new Date("2026-02-01") });
    expect(custom("2026-02-01", "2026-02-01").starts).toHaveLength(24);
    expect(custom("2025-06-15", "2026-02-07").span).toMatchObject({
      from: new Date("2025-06-01"),
      to: new Date("2026-03-01"),
      interval: "month",
    });
  });

  it("that is not over is compared with as much time", () => {
    const { before } = custom("2026-03-09", "2026-03-12");
    expect(before.from).toEqual(new Date("2026-03-05"));
    expect(before.to).toEqual(new Date("2026-03-06T15:00Z"));
  });

  it("that is no period becomes the default", () => {
    expect(daysOf({ from: "2026-02-02", to: "2026-02-01" })).toBeNull();
    expect(daysOf({ from: "2020-01-01", to: "2026-02-01" })).toBeNull();
    expect(custom("2026-02-02", "2026-02-01").words).toBe("the last 7 days");
    expect(readUsageSearch({ range: "custom", from: "2026-02-31", to: 7, zone: "mars" })).toEqual({
      range: "custom",
      from: undefined,
      to: undefined,
      zone: undefined,
      by: "model",
    });
  });
});
