import { describe, expect, it } from "vitest";
import { usageOf } from "../../server/src/audit/batch-sums.ts";
import type { AuditEntry } from "../../server/src/contract/entry.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

const first = auditEntry({ at: new Date("2026-11-26T12:00:59.999Z") });

const FIELDS = ["model", "upstream", "sourceIp"] as const;

describe("the usage of a batch", () => {
  it.each(FIELDS)("is found in one pass, however many entries differ in their %s", (field) => {
    let reads = 0;
    const counted = (entry: AuditEntry) =>
      new Proxy(entry, {
        get: (target, property, receiver) => {
          reads++;
          return Reflect.get(target, property, receiver);
        },
      });
    const entries = Array.from({ length: 2_000 }, (_, number) =>
      counted(auditEntry({ ...first, [field]: `value ${number}` })),
    );
    expect(usageOf(entries)).toHaveLength(2_000);
    expect(reads).toBeLessThan(2_000 * 50);
  });

  it("tells apart what differs only in where a space is, or in having a value", () => {
    const entries = [
      { upstream: "a b", model: "c" },
      { upstream: "a", model: "b c" },
      { upstream: null, model: "c" },
      { upstream: "null", model: "c" },
      { upstream: "a", model: null },
      { upstream: "a", model: "" },
    ].map((differing) => auditEntry({ ...first, ...differing }));
    expect(
      usageOf([...entries, ...entries]).map(({ upstream, model, requests }) => [upstream, model, requests]),
    ).toEqual(entries.map(({ upstream, model }) => [upstream, model, 2]));
  });

  it("has the sums of its entries, to the last token, and the time of the last", () => {
    const counts = { promptTokens: Number.MAX_SAFE_INTEGER, completionTokens: 3, cachedTokens: null };
    const entries = [first, { ...first, at: new Date("2026-11-26T12:00:00.000Z") }].map((entry) =>
      auditEntry({ ...entry, ...counts, costNanoUsd: 10n ** 17n + 1n }),
    );
    const next = auditEntry({ ...first, at: new Date("2026-11-26T12:01:00.000Z") });
    expect(usageOf([...entries, next])).toMatchObject([
      {
        minuteMs: Date.UTC(2026, 10, 26, 12),
        lastMs: first.at.getTime(),
        requests: 2,
        promptTokens: 2n * BigInt(Number.MAX_SAFE_INTEGER),
        completionTokens: 6n,
        cachedTokens: 0n,
        costNanoUsd: 2n * 10n ** 17n + 2n,
      },
      { minuteMs: Date.UTC(2026, 10, 26, 12, 1), requests: 1, promptTokens: 0n },
    ]);
  });
});
