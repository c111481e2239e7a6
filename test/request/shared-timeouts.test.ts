import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SharedTimeouts } from "../../server/src/errors/shared-timeouts.ts";

const LENGTH_MS = 2_000;

describe("timeouts that share a timer", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("end no earlier than their length, and at most an eighth of it later", () => {
    for (const beginsMs of [0, 1, 249, 250, 251, 333, 1_999]) {
      const timeouts = new SharedTimeouts(LENGTH_MS);
      const first = timeouts.begin(() => {});
      vi.advanceTimersByTime(beginsMs);
      const onTimeout = vi.fn();
      timeouts.begin(onTimeout);
      vi.advanceTimersByTime(LENGTH_MS - 1);
      expect(onTimeout).not.toHaveBeenCalled();
      vi.advanceTimersByTime(LENGTH_MS / 8 + 1);
      expect(onTimeout).toHaveBeenCalledTimes(1);
      first.clear();
      vi.runOnlyPendingTimers();
    }
  });

  it("end at most a second late, however long they are", () => {
    const timeouts = new SharedTimeouts(3_600_000);
    const onTimeout = vi.fn();
    timeouts.begin(onTimeout);
    vi.advanceTimersByTime(3_601_000);
    expect(onTimeout).toHaveBeenCalledTimes(1);
  });

  it("end in the order in which they began, except those that were cleared", () => {
    const timeouts = new SharedTimeouts(LENGTH_MS);
    const ended: number[] = [];
    const waits = Array.from({ length: 9 }, (_, index) => timeouts.begin(() => ended.push(index)));
    for (const index of [0, 4, 8, 4]) waits[index]?.clear();
    vi.advanceTimersByTime(2 * LENGTH_MS);
    expect(ended).toEqual([1, 2, 3, 5, 6, 7]);
    for (const wait of waits) wait.clear();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("can be begun and cleared while another one ends", () => {
    const timeouts = new SharedTimeouts(LENGTH_MS);
    const ended: string[] = [];
    timeouts.begin(() => {
      second.clear();
      timeouts.begin(() => ended.push("third"));
    });
    const second = timeouts.begin(() => ended.push("second"));
    vi.advanceTimersByTime(LENGTH_MS * 1.125);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(LENGTH_MS * 1.125);
    expect(ended).toEqual(["third"]);
  });

  it("have one timer together, and none when nothing waits", () => {
    const timeouts = new SharedTimeouts(LENGTH_MS);
    const waits = Array.from({ length: 1_000 }, () => timeouts.begin(() => {}));
    expect(vi.getTimerCount()).toBe(1);
    for (const wait of waits) wait.clear();
    vi.advanceTimersByTime(LENGTH_MS / 8);
    expect(vi.getTimerCount()).toBe(0);
  });
});
