import { describe, expect, it } from "vitest";
import { filtersOf, removalOf } from "../../dashboard-ui/src/pages/audit/filters.ts";

const NOW = new Date("2026-01-31T23:30:00Z");

describe("a range of the request log", () => {
  it("ends now, or is a month of UTC", () => {
    expect(filtersOf({ range: "24h" }, NOW)).toEqual({ from: "2026-01-30T23:30:00.000Z" });
    expect(filtersOf({ range: "month" }, NOW)).toEqual({ from: "2026-01-01T00:00:00.000Z" });
    expect(filtersOf({ range: "last-month", status: "error" }, NOW)).toEqual({
      from: "2025-12-01T00:00:00.000Z",
      to: "2026-01-01T00:00:00.000Z",
      status: "error",
    });
  });

  it("keeps its end when its start is removed, and the other way round", () => {
    const filters = filtersOf({ range: "last-month" }, NOW);
    expect(removalOf("from", filters)).toEqual({
      range: undefined,
      from: undefined,
      to: "2026-01-01T00:00:00.000Z",
    });
    expect(removalOf("to", filters)).toEqual({
      range: undefined,
      from: "2025-12-01T00:00:00.000Z",
      to: undefined,
    });
    expect(removalOf("status", filters)).toEqual({ status: undefined });
  });
});
