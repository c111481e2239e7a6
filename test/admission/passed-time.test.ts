import { describe, expect, it } from "vitest";
import { passedTime } from "../../server/src/start/passed-time.ts";

/** A monotonic clock and a wall clock that a test moves on, and the time that passed by both. */
function clocks() {
  let [monotonicMs, wallMs] = [5_000, 1_800_000_000_000];
  const passedMs = passedTime({ monotonicMs: () => monotonicMs, wallMs: () => wallMs });
  return {
    passedMs,
    move: (byMonotonicMs: number, byWallMs: number) => {
      monotonicMs += byMonotonicMs;
      wallMs += byWallMs;
      return passedMs();
    },
  };
}

describe("the time that has passed", () => {
  it("counts a suspension, in which only the wall clock goes on", () => {
    const { move } = clocks();
    expect(move(1_000, 1_000)).toBe(1_000);
    expect(move(2_000, 600_000)).toBe(601_000);
    expect(move(1_000, 1_000)).toBe(602_000);
  });

  it("does not count rounding and corrections, however often it is read, nor a clock that is set back", () => {
    const { move, passedMs } = clocks();
    for (let read = 0; read < 1_000; read++) move(0.25, read % 4 === 0 ? 1 : 0);
    for (let read = 0; read < 100; read++) move(1_000, 1_001);
    expect(passedMs()).toBe(100_250);
    expect(move(1_000, -3_600_000)).toBe(101_250);
  });
});
