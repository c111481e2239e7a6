import { describe, expect, it } from "vitest";
import { InFlight, NOT_IN_FLIGHT } from "../../server/src/admission/in-flight.ts";

const item = () => ({ inFlightIndex: NOT_IN_FLIGHT });

describe("the number of requests in flight", () => {
  it("counts the requests that started and have not ended, in any order of ends", () => {
    const inFlight = new InFlight<ReturnType<typeof item>>();
    const expected = new Set<ReturnType<typeof item>>();
    for (let step = 0; step < 20_000; step++) {
      if (Math.random() < 0.5 || expected.size === 0) {
        const come = item();
        inFlight.add(come);
        expected.add(come);
      } else {
        const leaving = [...expected][Math.floor(Math.random() * expected.size)] ?? item();
        expect(inFlight.delete(leaving)).toBe(true);
        expect(inFlight.delete(leaving)).toBe(false);
        expected.delete(leaving);
      }
      expect(inFlight.size).toBe(expected.size);
    }
    expect(new Set(inFlight)).toEqual(expected);
    for (const left of inFlight) inFlight.delete(left);
    expect([...inFlight]).toEqual([]);
  });

  it("does not change when a request that never started ends", () => {
    const inFlight = new InFlight<ReturnType<typeof item>>();
    expect(inFlight.delete(item())).toBe(false);
    const there = item();
    inFlight.add(there);
    expect(inFlight.delete(item())).toBe(false);
    expect([...inFlight]).toEqual([there]);
  });
});
