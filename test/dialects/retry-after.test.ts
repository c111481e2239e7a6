import { describe, expect, it } from "vitest";
import { refusalOf } from "../../server/src/upstream/refusal.ts";

/** How long a client is asked to wait when an upstream is overloaded and sends this header. */
const waitMs = (retryAfter: string) =>
  refusalOf(503, "{}", { "retry-after": retryAfter }).failure.retryAfterMs;

it("an upstream's Retry-After is passed on in seconds or as a date (RFC 9110, section 10.2.3), for 59 seconds at most", () => {
  expect(waitMs("7")).toBe(7_000);
  const soon = waitMs(new Date(Date.now() + 20_000).toUTCString()) ?? 0;
  expect(soon).toBeGreaterThan(1_000);
  expect(soon).toBeLessThanOrEqual(20_000);
  // The AI SDK ignores 60 seconds.
  expect(waitMs("60")).toBe(59_000);
  expect(waitMs(new Date(Date.now() + 3_600_000).toUTCString())).toBe(59_000);
});

it("an upstream's retry-after-ms is passed on, which is more precise", () => {
  const wait = (ms: string) =>
    refusalOf(429, "{}", { "retry-after-ms": ms, "retry-after": "3" }).failure.retryAfterMs;
  expect(["2100", "0", "", "soon"].map(wait)).toEqual([2_100, 3_000, 3_000, 3_000]);
});

describe("the wait that Google tells in an error", () => {
  const waitOf = (details: unknown, headers = {}) => {
    const error = { code: 429, status: "RESOURCE_EXHAUSTED", message: "Quota exceeded.", details };
    return [error, [{ error }], { error }].map(
      (body) => refusalOf(429, JSON.stringify(body), headers).failure.retryAfterMs,
    );
  };
  const info = (retryDelay: unknown) => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });
  const quota = { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [], retryDelay: "9s" };

  it("is passed on in every form of the error, for 59 seconds at most", () => {
    expect(waitOf([quota, null, info("34.5s")])).toEqual([34_500, 34_500, 34_500]);
    expect(waitOf([info("86400s")])).toEqual([59_000, 59_000, 59_000]);
    expect(waitOf([info("34s")], { "retry-after": "7" })).toEqual([7_000, 7_000, 7_000]);
  });

  it.each(["0s", "34", "-1s", "s", 34, null, `${"9".repeat(400)}s`])(
    "of %j asks for the default",
    (delay) => {
      expect(waitOf([info(delay)])).toEqual([1_000, 1_000, 1_000]);
    },
  );

  it.each([null, "34s", { retryDelay: "34s" }, [], [quota]])("is not read from %j", (details) => {
    expect(waitOf(details)).toEqual([1_000, 1_000, 1_000]);
  });
});

it.each(["", "soon", "-3", "0", "Infinity", new Date(0).toUTCString()])(
  "a Retry-After of %j asks for the default",
  (retryAfter) => {
    expect(waitMs(retryAfter)).toBe(1_000);
  },
);
