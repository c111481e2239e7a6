import { describe, expect, it } from "vitest";
import { BodyBudget } from "../../server/src/admission/body-budget.ts";
import { IncomingBody } from "../../server/src/admission/incoming-body.ts";
import type { AccountId } from "../../server/src/contract/account.ts";

const MAX_BYTES = 1_000_000;
const WINDOW_MS = 10_000;

function openBody(declaredBytes: number | null, accountBytes = MAX_BYTES * 2) {
  const budget = new BodyBudget({ processBytes: MAX_BYTES * 4, accountBytes, addressBytes: MAX_BYTES });
  const sender = budget.account("one" as AccountId);
  const body = new IncomingBody({ sender, maxBodies: 2, declaredBytes, maxBytes: MAX_BYTES });
  const whole = body.receive(() => {});
  // Looked at when the test asks.
  whole.catch(() => {});
  return { budget, body, whole };
}

describe("an incoming body", () => {
  it.each([null, 0, 1, 5_000, MAX_BYTES])(
    "with a length of %s is read as it was sent, however it is divided",
    async (declared) => {
      const sent = crypto.getRandomValues(new Uint8Array(Math.min(declared ?? 60_000, 60_000)));
      const { budget, body, whole } = openBody(declared);
      for (let start = 0, size = 1; start < sent.length; start += size, size = (size * 7) % 3_001) {
        body.add(sent.subarray(start, start + size));
      }
      body.end();
      expect(Buffer.from(await whole).equals(sent)).toBe(true);
      expect(body.wholeBytes).toBe(sent.length);
      body.abort();
      expect(budget.bytes).toBeGreaterThanOrEqual(sent.length);
      body.release();
      body.release();
      expect(budget.bytes).toBe(0);
    },
  );

  it("takes neither a slot nor bytes of its sender when its declared length is refused", () => {
    const budget = new BodyBudget({ processBytes: 4_000, accountBytes: 1_000, addressBytes: 1_000 });
    const sender = budget.account("one" as AccountId);
    for (let body = 0; body < 3; body++) {
      const refused = () =>
        new IncomingBody({ sender, maxBodies: 2, declaredBytes: 2_000, maxBytes: MAX_BYTES });
      expect(refused).toThrow(expect.objectContaining({ code: "rate_limit_exceeded" }));
    }
    expect(sender.isIdle).toBe(true);
    expect(budget.bytes).toBe(0);
  });

  it("counts until its request has ended, for a part while its answer is streamed, and takes no slot once it is admitted", async () => {
    const { budget, body, whole } = openBody(1_000, 10_000);
    const sender = budget.account("one" as AccountId);
    body.add(new Uint8Array(1_000));
    body.end();
    await whole;
    body.stopCounting();
    body.stopCounting();
    const second = new IncomingBody({ sender, maxBodies: 1, declaredBytes: 0, maxBytes: MAX_BYTES });
    expect(() => sender.begin(1)).toThrow(expect.objectContaining({ code: "too_many_concurrent_requests" }));
    second.release();
    expect(budget.bytes).toBe(1_000);
    expect(sender.isIdle).toBe(false);
    body.addStored(7_000);
    expect(budget.bytes).toBe(8_000);
    expect(() => body.addStored(3_000)).toThrow(expect.objectContaining({ code: "rate_limit_exceeded" }));
    body.releaseForStream();
    expect(budget.bytes).toBe(2_000);
    body.release();
    body.releaseForStream();
    body.addStored(500);
    expect(budget.bytes).toBe(0);
    expect(sender.isIdle).toBe(true);
  });

  it("may take as long as it needs while bytes arrive, and is refused when they stop", async () => {
    const { budget, body, whole } = openBody(MAX_BYTES);
    let elapsedMs = 0;
    for (let window = 0; window < 20; window++) {
      elapsedMs += WINDOW_MS;
      body.checkPace(elapsedMs);
      body.add(new Uint8Array(41_000));
    }
    expect(body.isOver).toBe(false);
    body.checkPace(elapsedMs + WINDOW_MS);
    body.add(new Uint8Array(40_000));
    body.checkPace(elapsedMs + WINDOW_MS + 9_999);
    expect(body.isOver).toBe(false);
    body.checkPace(elapsedMs + 2 * WINDOW_MS);
    await expect(whole).rejects.toMatchObject({ code: "request_timeout" });
    expect(budget.bytes).toBe(0);
    expect(budget.refused.get("too_slow")).toBe(1);
  });

  it("of undeclared length is refused once the sender's share is used up", async () => {
    const { budget, body, whole } = openBody(null, 200_000);
    while (!body.isOver) body.add(new Uint8Array(10_000));
    await expect(whole).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    expect(budget.bytes).toBe(0);
  });

  it("that was refused uses no budget for the bytes that still arrive", async () => {
    const { budget, body, whole } = openBody(null);
    body.abort(new Error("reset"));
    body.add(new Uint8Array(10));
    body.end();
    await expect(whole).rejects.toMatchObject({ code: "request_timeout" });
    expect(body.wholeBytes).toBeNull();
    expect(budget.bytes).toBe(0);
  });
});
