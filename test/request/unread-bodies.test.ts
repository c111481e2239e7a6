import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { UnreadBodies } from "../../server/src/http/unread-bodies.ts";

const KIB = 1024;
const MINUTE_MS = 60_000;
const encoder = new TextEncoder();
const UNSENT = new Promise(() => {});
const HEAD = { status: 200, headers: { "content-type": "text/plain" } };

function openBodies(maxBytes: number) {
  let nowMs = 0;
  const bodies = new UnreadBodies(maxBytes, () => nowMs);
  return {
    answer: (kib: number, peer = "10.0.0.1", method = "POST") =>
      bodies.response("x".repeat(kib * KIB), HEAD, { method, peer, completed: UNSENT }),
    streamed: (gone: () => void) =>
      bodies.streamed({ method: "POST", peer: "10.0.0.1", completed: UNSENT }, gone),
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
    const other = new UnreadBodies(1).response(signs, HEAD, {
      method: "GET",
      peer: "10.0.0.1",
      completed: UNSENT,
    });
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

/** A function that has been called, or not. */
function openCall() {
  let calls = 0;
  return { call: () => void calls++, calls: () => calls };
}

describe("bodies that the runtime has not sent", () => {
  it("keep further large ones from their network, until it has read or left some", async () => {
    const bodies = new UnreadBodies(4 * 128 * KIB);
    const file = new Uint8Array(20 * KIB);
    const sent: (() => void)[] = [];
    const answerTo = (peer: string) => {
      const completed = new Promise<void>((resolve) => sent.push(resolve));
      return bodies.sharedBody(file, { method: "GET", peer, completed });
    };
    for (let count = 0; count < 3; count++) expect(answerTo("10.0.0.1")).not.toBeNull();
    expect(answerTo("10.0.0.2")).not.toBeNull();
    expect(answerTo("10.0.0.1")).toBeNull();
    expect(answerTo("10.0.0.2")).not.toBeNull();
    const answer = bodies.response("x".repeat(20 * KIB), HEAD, {
      method: "GET",
      peer: "10.0.0.1",
      completed: UNSENT,
    });
    expect(await lengthOf(answer)).toBe(0);
    for (const resolve of sent) resolve();
    await Promise.resolve();
    await Promise.resolve();
    expect(answerTo("10.0.0.1")).not.toBeNull();
  });
});

describe("a body that is written while it is sent", () => {
  const READER = { method: "POST", peer: "10.0.0.1", completed: UNSENT };

  it("arrives whole and in order, in pieces, and says when more may be written", async () => {
    const body = new UnreadBodies(1e9).streamed(READER, () => {});
    const large = Uint8Array.from({ length: 100 * KIB }, (_, index) => index % 251);
    const written = body.write(large);
    const further = body.write(encoder.encode("end"));
    const ended = body.end();
    const pieces: Uint8Array[] = [];
    for await (const piece of body.stream) pieces.push(piece);
    expect(Math.max(...pieces.map(({ length }) => length))).toBe(16 * KIB);
    expect(Buffer.concat(pieces).equals(Buffer.concat([large, encoder.encode("end")]))).toBe(true);
    await Promise.all([written, further, ended]);
    expect(body.write(large)).toBeNull();
  });

  it("is given to a reader that waits for it", async () => {
    const body = new UnreadBodies(1e9).streamed(READER, () => {});
    const reader = body.stream.getReader();
    const first = reader.read();
    await setImmediate();
    expect(body.write(encoder.encode("one"))).toBeNull();
    expect(body.write(encoder.encode("two"))).toBeInstanceOf(Promise);
    expect((await first).value).toEqual(encoder.encode("one"));
    expect((await reader.read()).value).toEqual(encoder.encode("two"));
    expect(body.end()).toBeNull();
    expect((await reader.read()).done).toBe(true);
  });

  it("is dropped when its client reads nothing for a minute, but not while there is nothing to read", async () => {
    const { streamed, check } = openBodies(10_000 * KIB);
    const [idle, stuck] = [openCall(), openCall()];
    const [silent, unread] = [streamed(idle.call), streamed(stuck.call)];
    const written = unread.write(new Uint8Array(KIB));
    check(MINUTE_MS);
    await written;
    expect([idle.calls(), stuck.calls()]).toEqual([0, 1]);
    await expect(unread.stream.getReader().read()).rejects.toBe("an answer was cut off");
    expect(silent.write(new Uint8Array(KIB))).not.toBeNull();
    check(0);
    expect(idle.calls()).toBe(0);
  });

  it("is dropped when all take too much", async () => {
    const { streamed, check } = openBodies(1_000 * KIB);
    const [small, large] = [openCall(), openCall()];
    const bodies = [streamed(small.call), streamed(large.call)] as const;
    void bodies[0].write(new Uint8Array(600 * KIB));
    void bodies[1].write(new Uint8Array(700 * KIB));
    check(1_000);
    expect([small.calls(), large.calls()]).toEqual([0, 1]);
  });

  it("tells when its client has gone", async () => {
    const gone = openCall();
    const body = new UnreadBodies(1e9).streamed(READER, gone.call);
    const written = body.write(new Uint8Array(KIB));
    await body.stream.cancel();
    await written;
    expect(gone.calls()).toBe(1);
    expect(body.write(new Uint8Array(KIB))).toBeNull();
  });
});
