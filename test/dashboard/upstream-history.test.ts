import { describe, expect, it } from "vitest";
import { MAX_COLOURS } from "../../dashboard-ui/src/components/chart/colours.ts";
import { historyOf } from "../../dashboard-ui/src/pages/operator/upstreams/history.ts";

const STARTS = [0, 1, 2].map((hour) => new Date(Date.UTC(2026, 2, 3, hour)));
const [FIRST = new Date(0), , LAST = new Date(0)] = STARTS;
const NONE = { p50: null, p95: null };
const row = (start: Date, requests: number, errorCodes: { code: string; requests: number }[] = []) => ({
  start,
  requests,
  errors: errorCodes.reduce((sum, each) => sum + each.requests, 0),
  latencyMs: { p50: 10, p95: 90 },
  timeToFirstTokenMs: NONE,
  errorCodes,
});

describe("the figures of an upstream", () => {
  it("have no value where there were no requests", () => {
    const figures = historyOf(
      { intervals: [row(FIRST, 4, [{ code: "upstream_error", requests: 1 }]), row(LAST, 6)] },
      STARTS,
    );
    expect(figures).toEqual({
      requests: 10,
      errors: 1,
      errorRates: [0.25, null, 0],
      p50: [10, null, 10],
      p95: [90, null, 90],
      codes: [{ code: "upstream_error", values: [1, 0, 0], isOther: false }],
    });
  });

  it("show the most frequent codes, and the others as one", () => {
    const codes = Array.from({ length: MAX_COLOURS + 2 }, (_, index) => ({
      code: `code_${index}`,
      requests: index + 1,
    }));
    const { codes: shown } = historyOf({ intervals: [row(FIRST, 100, codes)] }, STARTS);
    expect(shown).toHaveLength(MAX_COLOURS + 1);
    expect(shown[0]).toEqual({
      code: `code_${MAX_COLOURS + 1}`,
      values: [MAX_COLOURS + 2, 0, 0],
      isOther: false,
    });
    expect(shown.at(-1)).toEqual({ code: "rest", values: [1 + 2, 0, 0], isOther: true });
  });
});
