import { describe, expect, it } from "vitest";
import { UnreadBodies } from "../../server/src/http/unread-bodies.ts";

const KIB = 1024;
const MINUTE_MS = 60_000;
const HEAD = { status: 200, headers: { "content-type": "text/plain" } };

function openBodies(maxBytes: number) {
  let nowMs = 0;
  const bodies = new UnreadBodies(maxBytes, () => nowMs);
  return {
    answer: (kib: number, peer = "10.0.0.1", method = "POST") =>
      bodies.response("x".repeat(kib * KIB), HEAD, { method, peer }),
    check: (passedMs: number) => {
      nowMs += passedMs;
      bodies.check();
    },
  };
}

const lengthOf = async (response: Response) => (await response.text()).length;

describe("a body that is sent as its client reads it", () => {
  it("arrives whole, with its length", async () => {
    const { answer } = openBodies(1);
    const response = answer(1_000);
    expect(response.headers.get("content-length")).toBe(String(1_000 * KIB));
    expect(await lengthOf(response)).toBe(1_000 * KIB);
    const signs = "aä€😀".repeat(50_000);
    const other = new UnreadBodies(1).response(signs, HEAD, { method: "GET", peer: "10.0.0.1" });
    expect(await other.text()).toBe(signs);
  });

  it("is given to the runtime at once if it is small, or nobody reads it", async () => {
    const { answer, check } = openBodies(1);
    const bodies = [answer(15), answer(1_000, "10.0.0.1", "HEAD")];
    check(2 * MINUTE_MS);
    expect(await Promise.all(bodies.map(lengthOf))).toEqual([15 * KIB, 1_000 * KIB]);
  });

  it("is dropped when its client reads nothing for a minute", async () => {
    const { answer, check } = openBodies(10_000 * KIB);
    const [read, unread] = [answer(1_000), answer(1_000)];
    const reader = read.body?.getReader();
    for (let piece = 0; piece < 3; piece++) {
      expect((await reader?.read())?.value).toHaveLength(16 * KIB);
      check(MINUTE_MS - 1);
    }
    expect((await reader?.read())?.value).toHaveLength(16 * KIB);
    expect(await lengthOf(unread)).toBe(0);
  });

  it("is dropped when all take too much: the largest of the address with the most, but none that was just read, and not the only one", async () => {
    const { answer, check } = openBodies(1_000 * KIB);
    const [small, largest, large] = [answer(400), answer(700), answer(500)];
    const other = answer(600, "10.0.0.2");
    check(1_000);
    check(0);
    expect(await Promise.all([small, largest, large, other].map(lengthOf))).toEqual([
      400 * KIB,
      0,
      0,
      600 * KIB,
    ]);
    const only = answer(2_000);
    check(1_000);
    const late = answer(100);
    check(0);
    expect(await Promise.all([only, late].map(lengthOf))).toEqual([0, 100 * KIB]);
    const alone = answer(2_000);
    check(1_000);
    expect(await lengthOf(alone)).toBe(2_000 * KIB);
  });
});
