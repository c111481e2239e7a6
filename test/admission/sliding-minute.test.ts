import { describe, expect, it } from "vitest";
import { SlidingMinute } from "../../server/src/admission/sliding-minute.ts";

describe("what was used in the last minute", () => {
  it("counts for a whole minute after its second, and then no longer", () => {
    const minute = new SlidingMinute();
    minute.add(2, 999);
    minute.add(3, 1_000);
    expect(minute.used(60_999)).toBe(5);
    expect(minute.used(61_000)).toBe(3);
    expect(minute.isEmpty(61_999)).toBe(false);
    expect(minute.isEmpty(62_000)).toBe(true);
  });

  it("tells for how long an amount has to wait, and what remains", () => {
    const minute = new SlidingMinute();
    minute.add(2, 0);
    minute.add(3, 10_000);
    expect(minute.waitMs(1, 6, 10_000)).toBe(0);
    expect(minute.waitMs(3, 6, 10_000)).toBe(51_000);
    expect(minute.waitMs(4, 6, 10_000)).toBe(61_000);
    expect(minute.waitMs(4, null, 10_000)).toBe(0);
    expect(minute.rate(6, 10_000)).toEqual({ limit: 6, remaining: 1, resetMs: 61_000 });
    expect(minute.rate(4, 10_000)).toEqual({ limit: 4, remaining: 0, resetMs: 61_000 });
    expect(minute.rate(null, 10_000)).toBeNull();
  });

  it("is corrected where it was used, never below nothing", () => {
    const minute = new SlidingMinute();
    minute.add(5, 0);
    minute.add(1, 1_000);
    minute.correct(0, -2, 1_000);
    expect(minute.used(1_000)).toBe(4);
    minute.correct(0, -9, 1_000);
    expect(minute.used(1_000)).toBe(1);
    minute.correct(7, 100, 1_000);
    expect(minute.used(1_000)).toBe(1);
  });

  it("counts from now what was used beyond the amount of a second that has expired", () => {
    const minute = new SlidingMinute();
    minute.add(5, 0);
    minute.correct(0, -2, 61_000);
    expect(minute.used(61_000)).toBe(0);
    minute.correct(0, 7, 61_000);
    expect(minute.used(121_999)).toBe(7);
    expect(minute.used(122_000)).toBe(0);
  });
});
