import { expect, it } from "vitest";
import { refusalOf } from "../../server/src/upstream/refusal.ts";

/** How long a client is asked to wait when an upstream is overloaded and sends this header. */
const waitMs = (retryAfter: string) =>
  refusalOf(503, "{}", { "retry-after": retryAfter }).failure.retryAfterMs;

it("an upstream's Retry-After is passed on in seconds or as a date (RFC 9110, section 10.2.3), for a minute at most", () => {
  expect(waitMs("7")).toBe(7_000);
  const soon = waitMs(new Date(Date.now() + 20_000).toUTCString()) ?? 0;
  expect(soon).toBeGreaterThan(1_000);
  expect(soon).toBeLessThanOrEqual(20_000);
  expect(waitMs(new Date(Date.now() + 3_600_000).toUTCString())).toBe(60_000);
});

it.each(["", "soon", "-3", "0", "Infinity", new Date(0).toUTCString()])(
  "a Retry-After of %j asks for the default",
  (retryAfter) => {
    expect(waitMs(retryAfter)).toBe(1_000);
  },
);
