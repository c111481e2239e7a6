import { beforeEach, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { type Attempt, Breaker } from "../../server/src/gateway/breaker.ts";
import { UpstreamBreaker } from "../../server/src/gateway/upstream-breaker.ts";

const OPEN_MS = 2_000;
const MAX_OPEN_MS = 60_000;

let nowMs: number;
let breaker: Breaker;

beforeEach(() => {
  nowMs = 0;
  breaker = new Breaker({ failures: 2, openMs: OPEN_MS }, () => nowMs);
});

function enter(): Attempt {
  const attempt = breaker.enter();
  if (attempt === null) throw new Error("the breaker let nothing pass");
  return attempt;
}

function fail(attempt = enter()): void {
  attempt.ended("failure");
}

/** Opens the breaker, and lets the time pass until it is half-open. */
function halfOpen(): void {
  fail();
  fail();
  nowMs += OPEN_MS;
  expect(breaker.state).toBe("half-open");
}

describe("a half-open breaker", () => {
  it("lets one request pass, and another if the outcome of the first is unknown", () => {
    halfOpen();
    const probe = enter();
    expect(breaker.enter()).toBeNull();
    nowMs += OPEN_MS - 1;
    expect(breaker.enter()).toBeNull();
    probe.ended("unknown");
    enter().begun();
    expect(breaker.state).toBe("closed");
  });

  it("lets another request pass for each that hangs, after the time that it was open", () => {
    halfOpen();
    for (let hanging = 0; hanging < 3; hanging++) {
      enter();
      nowMs += OPEN_MS - 1;
      expect(breaker.enter()).toBeNull();
      nowMs++;
    }
    enter().ended("success");
    expect(breaker.state).toBe("closed");
  });

  it("waits a minute at most for a request that hangs, however often it has opened", () => {
    halfOpen();
    for (let openings = 0; openings < 10; openings++) {
      fail();
      nowMs += breaker.waitMs;
    }
    enter();
    nowMs += MAX_OPEN_MS - 1;
    expect(breaker.enter()).toBeNull();
    nowMs++;
    enter();
  });

  it("opens once for several requests that hang and then fail", () => {
    halfOpen();
    const probes = [enter()];
    nowMs += OPEN_MS;
    probes.push(enter());
    for (const probe of probes) fail(probe);
    expect(breaker.waitMs).toBe(2 * OPEN_MS);
  });

  it("is not opened by a request that was sent before it opened, whatever happened since", () => {
    const sentBefore = enter();
    halfOpen();
    const hanging = enter();
    nowMs += OPEN_MS;
    enter().begun();
    fail(sentBefore);
    expect(breaker.state).toBe("closed");
    // Failures stay counted until a request succeeds.
    fail();
    nowMs += OPEN_MS / 2;
    fail(hanging);
    expect(breaker.waitMs).toBe(OPEN_MS / 2);
  });

  it("stays closed when one that hung fails after another was answered", () => {
    halfOpen();
    const hanging = enter();
    nowMs += OPEN_MS;
    enter().begun();
    fail(hanging);
    expect(breaker.state).toBe("closed");
  });

  it("opens again at once for an answer that breaks off", () => {
    halfOpen();
    const probe = enter();
    probe.begun();
    fail(probe);
    expect(breaker.state).toBe("open");
  });
});

describe("the breaker of an upstream that answers", () => {
  const settings = { failures: 3, openMs: 1_000 };
  const [one, two, other] = ["one", "two", "other"] as unknown as [AccountId, AccountId, AccountId];

  /** Two accounts send requests that all fail at once later; meanwhile something may happen. Returns whether those of another account pass. */
  function passesAfter(meanwhile: (breaker: UpstreamBreaker) => void): boolean {
    const breaker = new UpstreamBreaker(settings, () => 0);
    const sent = [one, one, two, two].map((sender) => breaker.enter(sender));
    meanwhile(breaker);
    for (const attempt of sent) attempt?.ended("failure");
    return breaker.isPassable(other);
  }

  it("is not opened by two accounts whose requests take too long while others are answered", () => {
    expect(passesAfter((breaker) => breaker.enter(other)?.ended("success"))).toBe(true);
  });

  it("is opened if it answered no other account since", () => {
    expect(passesAfter(() => {})).toBe(false);
    // One that begins an answer and breaks it off has not answered.
    expect(passesAfter((breaker) => breaker.enter(other)?.begun())).toBe(false);
  });

  it("is opened by requests that were sent after its last answer", () => {
    const breaker = new UpstreamBreaker(settings, () => 0);
    breaker.enter(other)?.ended("success");
    for (const sender of [one, two, two]) breaker.enter(sender)?.ended("failure");
    expect(breaker.isPassable(other)).toBe(false);
  });
});
