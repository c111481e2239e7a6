import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Failure } from "../../server/src/errors/failure.ts";
import { CallLimits } from "../../server/src/management/call-limits.ts";

const ANYBODY = { kind: "anonymous" } as const;
const CALLS_OF_MINUTE = 600;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Calls from an address, and when those that were refused were answered. */
function world() {
  const limits = new CallLimits(() => performance.now());
  const answeredMs: number[] = [];
  const call = async (address: string) => {
    const error: unknown = await limits.count(ANYBODY, address, 1).catch((thrown: unknown) => thrown);
    if (error instanceof Failure && error.code === "rate_limit_exceeded") answeredMs.push(performance.now());
    return error;
  };
  return { limits, call, answeredMs };
}

it("refusals of a caller are answered one after another, and each within five seconds", async () => {
  const { limits, call, answeredMs } = world();
  await limits.count(ANYBODY, "192.0.2.1", CALLS_OF_MINUTE);
  const startMs = performance.now();
  const refused = Array.from({ length: 300 }, () => call("192.0.2.1"));
  await vi.advanceTimersByTimeAsync(0);
  expect(answeredMs).toHaveLength(0);
  // Another address does not wait.
  expect(await call("192.0.2.2")).toBeUndefined();
  await vi.advanceTimersByTimeAsync(5_000);
  await Promise.all(refused);
  const afterMs = answeredMs.map((ms) => ms - startMs);
  expect(afterMs).toHaveLength(300);
  expect(afterMs.slice(0, 3)).toEqual([20, 40, 60]);
  expect(afterMs.at(-1)).toBe(5_000);
});

it("a refusal does not wait for one that was answered long ago", async () => {
  const { limits, call, answeredMs } = world();
  await limits.count(ANYBODY, "192.0.2.1", CALLS_OF_MINUTE);
  const first = call("192.0.2.1");
  await vi.advanceTimersByTimeAsync(20);
  await first;
  await vi.advanceTimersByTimeAsync(79);
  const second = call("192.0.2.1");
  await vi.advanceTimersByTimeAsync(20);
  await second;
  expect((answeredMs[1] ?? 0) - (answeredMs[0] ?? 0)).toBeLessThanOrEqual(80);
});
