import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TokenizerThread } from "../../server/src/tokens/tokenizer-thread.ts";

const silent = pino({ level: "silent" });

it("counts the tokens of all texts, those of special tokens as text", async () => {
  const program = new URL("../../server/dist/tokenizer-worker.js", import.meta.url);
  const thread = new TokenizerThread({ log: silent, monotonicMs: () => 0, program });
  expect(await thread.count(["hello world"])).toBe(2);
  expect(await thread.count(["hello world", "hello world"])).toBe(4);
  expect(await thread.count(["<|endoftext|>"])).toBeGreaterThan(1);
  const counts = await Promise.all(["one", "one two", "one two three"].map((text) => thread.count([text])));
  expect(counts).toEqual([1, 2, 3]);
});

describe("the thread", () => {
  /** Counts characters, and does what some texts name instead. */
  const PROGRAM = new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from "node:worker_threads";
      parentPort.on("message", ({ id, texts }) => {
        if (texts[0] === "exit") process.exit(3);
        if (texts[0] === "throw") throw new Error("thrown");
        if (texts[0] === "loop") for (;;);
        if (texts[0] !== "silent") parentPort.postMessage({ id, tokens: texts.join("").length });
      });
    `)}`,
  );
  let nowMs = 0;
  const lines: string[] = [];
  const threadOf = (program = PROGRAM) =>
    new TokenizerThread({
      log: pino({}, { write: (line: string) => void lines.push(line) }),
      monotonicMs: () => nowMs,
      program,
    });

  beforeEach(() => {
    lines.length = 0;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => void vi.useRealTimers());

  it.each(["exit", "throw"])(
    "fails all counts that wait, and works again some seconds later (%s)",
    async (text) => {
      const thread = threadOf();
      expect(await thread.count(["abc"])).toBe(3);
      const waiting = Promise.allSettled([
        thread.count(["silent"]),
        thread.count([text]),
        thread.count(["silent"]),
      ]);
      expect((await waiting).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
      await expect(thread.count(["abc"])).rejects.toThrow("a moment ago");
      nowMs += 10_000;
      expect(await thread.count(["abc"])).toBe(3);
      expect(vi.getTimerCount()).toBe(0);
      expect(lines).toHaveLength(1);
    },
  );

  it.each(["silent", "loop"])("is ended when it does not answer in time (%s)", async (text) => {
    const thread = threadOf();
    expect(await thread.count(["abc"])).toBe(3);
    const count = thread.count([text]);
    vi.advanceTimersByTime(30_000);
    await expect(count).rejects.toThrow("in time");
    nowMs += 10_000;
    expect(await thread.count(["abcd"])).toBe(4);
  });

  it("is reported once if its program can't be loaded, however many counts ask for it", async () => {
    const thread = threadOf(new URL("file:///nowhere/tokenizer.js"));
    await expect(thread.count(["abc"])).rejects.toThrow();
    for (let index = 0; index < 100; index++) await expect(thread.count(["abc"])).rejects.toThrow();
    expect(lines).toHaveLength(1);
  });

  it("is not waited for by a service that stops, unless it has counted before", async () => {
    const starting = threadOf();
    const count = starting.count(["abc"]);
    starting.startNoMore();
    await expect(count).rejects.toThrow("stops");
    nowMs += 60_000;
    await expect(starting.count(["abc"])).rejects.toThrow("stops");

    const started = threadOf();
    await started.count(["abc"]);
    started.startNoMore();
    expect(await started.count(["abc"])).toBe(3);
    expect(lines).toEqual([]);
  });
});
