import { describe, expect, it } from "vitest";
import { bucketLengthOf, type SummaryRow, summaryOf } from "../../server/src/audit/summary.ts";

const MINUTE_MS = 60_000;

function row(kind: SummaryRow["kind"], value: string | null, requests: number, errors = 0): SummaryRow {
  return { kind, value, requests, errors, promptTokens: requests, completionTokens: 2, costNanoUsd: 5n };
}

describe("the intervals of a histogram", () => {
  it("are as short as they can be without becoming too many", () => {
    for (let lengthMs = 1; lengthMs < 40 * 366 * 24 * 60 * MINUTE_MS; lengthMs = Math.ceil(lengthMs * 1.7)) {
      const span = { from: new Date(1_777_777_777_777), to: new Date(1_777_777_777_777 + lengthMs) };
      const bucketMs = bucketLengthOf(span);
      const { buckets } = summaryOf([row("bucket", "0", 1)], span, bucketMs, null);
      expect(buckets.length, String(lengthMs)).toBeLessThanOrEqual(100);
      if (lengthMs > MINUTE_MS) expect(buckets.length, String(lengthMs)).toBeGreaterThan(20);
      expect(buckets[0]?.start.getTime()).toBeLessThanOrEqual(span.from.getTime());
      expect((buckets.at(-1)?.start.getTime() ?? 0) + bucketMs).toBeGreaterThanOrEqual(span.to.getTime());
    }
  });
});

describe("a summary", () => {
  it("adds up the parts in which the log was read, and fills gaps", () => {
    const span = { from: new Date(0), to: new Date(3 * MINUTE_MS) };
    const rows = [
      row("bucket", "2", 4, 1),
      row("model", "a", 3),
      row("model", null, 1),
      row("status", "200", 3),
      row("bucket", "2", 2),
      row("bucket", "0", 1, 1),
      row("model", "b", 3),
      row("model", "a", 1),
      row("errorCode", "internal_error", 1),
    ];
    const summary = summaryOf(rows, span, MINUTE_MS, null);
    expect(summary.buckets.map(({ requests, errors }) => [requests, errors])).toEqual([
      [1, 1],
      [0, 0],
      [6, 1],
    ]);
    expect(summary.total).toEqual({
      requests: 7,
      errors: 2,
      promptTokens: 7,
      completionTokens: 6,
      costNanoUsd: 15n,
    });
    expect(summary.models).toEqual([
      { value: "a", requests: 4 },
      { value: "b", requests: 3 },
    ]);
    expect(summary.errorCodes).toEqual([{ value: "internal_error", requests: 1 }]);
  });

  it("has no intervals without entries", () => {
    expect(summaryOf([], { from: new Date(0), to: new Date(9) }, MINUTE_MS, null).buckets).toEqual([]);
  });
});
