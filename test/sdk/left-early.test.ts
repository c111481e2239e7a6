import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ChatCompletionChunk } from "../../sdk/src/index.ts";
import { caught, collect, newClient } from "./fake-service.ts";
import { loopback } from "./loopback.ts";

const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const chunk = (content: string) =>
  `data: ${JSON.stringify({ id: "1", choices: [{ index: 0, delta: { content } }] })}\n\n`;
const line = '{"id":"1","cursor":"5~019b0000-0000-7000-8000-000000000000~1-1"}\n';
const event = `event: connected\ndata: {}\n\nid: 1\ndata: {"json":{"entries":[{}],"skipped":0,"hasGap":false}}\n\n`;
const textOf = (chunks: readonly ChatCompletionChunk[]) =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");

/** A client whose answers have this text and do not end, and its requests' signals. */
function open(text = "") {
  const signals: AbortSignal[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    if (init?.signal) signals.push(init.signal);
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream({
      start: (controller) => {
        if (bytes.length > 0) controller.enqueue(bytes);
        init?.signal?.addEventListener("abort", () => controller.error(init.signal?.reason));
      },
    });
    return new Response(body);
  };
  return { client: newClient({ managementToken: "mt", fetch }), signals };
}

type Client = ReturnType<typeof open>["client"];
/** Every sequence whose request has begun before it is read. */
const begun: Record<string, (client: Client) => Promise<AsyncIterator<unknown>>> = {
  "a stream": async ({ chat }) =>
    (await chat.completions.create({ ...ask, stream: true }))[Symbol.asyncIterator](),
  "a stream that is not awaited": async ({ chat }) =>
    chat.completions.create({ ...ask, stream: true })[Symbol.asyncIterator](),
  "a stream with events": async ({ chat }) => chat.completions.stream(ask)[Symbol.asyncIterator](),
};
/** Those whose request begins when they are read. */
const lazy: Record<string, (client: Client) => Promise<AsyncIterator<unknown>>> = {
  "a tail": async ({ audit }) => audit.tail()[Symbol.asyncIterator](),
  "a subscription": async ({ trpc }) => trpc.audit.tail.subscribe({})[Symbol.asyncIterator](),
  "an export": async ({ audit }) => audit.export()[Symbol.asyncIterator](),
  "an export as text": async ({ audit }) => audit.export().text(),
};
const texts: Record<string, string> = { "a tail": event, "a subscription": event };

describe.each(Object.entries(begun))("%s", (_, start) => {
  it("ends its request when it is returned before it is read", async () => {
    const { client, signals } = open(chunk("a"));
    const items = await start(client);
    await delay(1);
    expect(await items.return?.()).toMatchObject({ done: true });
    await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(await items.next()).toMatchObject({ done: true });
  });

  it("ends its request when an error is thrown into it before it is read", async () => {
    const { client, signals } = open(chunk("a"));
    const items = await start(client);
    await delay(1);
    const mistake = new Error("of the reader");
    await expect(items.throw?.(mistake)).rejects.toBe(mistake);
    await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

describe.each(Object.entries({ ...begun, ...lazy }))("%s that is silent", (name, start) => {
  it("ends its request at once when it is returned while it is read", async () => {
    const { client, signals } = open(texts[name] ?? (name in lazy ? line : chunk("a")));
    const items = await start(client);
    expect((await items.next()).done).toBe(false);
    const next = items.next().catch(() => ({ done: true }));
    await delay(1);
    expect(signals[0]?.aborted).toBe(false);
    expect(await items.return?.()).toMatchObject({ done: true });
    expect(signals[0]?.aborted).toBe(true);
    expect(await next).toMatchObject({ done: true });
  });
});

describe("a stream whose answer has not begun", () => {
  /** A client whose answers do not begin, and its requests' signals. `first`: what the first request is answered with. */
  function unanswered(first?: () => Response) {
    const signals: AbortSignal[] = [];
    const fetch: typeof globalThis.fetch = (_, init) => {
      if (init?.signal) signals.push(init.signal);
      if (first !== undefined && signals.length === 1) return Promise.resolve(first());
      return new Promise((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
    };
    return { client: newClient({ fetch, maxRetries: 2 }), signals };
  }

  it.each(Object.keys(begun).filter((name) => name !== "a stream"))(
    "ends its request at once: %s",
    async (name) => {
      for (const isRead of [false, true]) {
        const { client, signals } = unanswered();
        const items = await begun[name]?.(client);
        const next = isRead ? caught(items?.next() ?? Promise.resolve()) : null;
        await delay(1);
        expect(await items?.return?.()).toMatchObject({ done: true });
        expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
        await next;
      }
    },
  );

  it("sends no further attempt when it is left before that", async () => {
    const busy = () =>
      new Response("{}", { status: 503, headers: { "x-request-id": "req_1", "retry-after-ms": "50" } });
    const { client, signals } = unanswered(busy);
    const items = client.chat.completions.create({ ...ask, stream: true })[Symbol.asyncIterator]();
    await delay(20);
    await items.return();
    await delay(60);
    expect(signals).toHaveLength(1);
  });

  it("still ends by the caller's signal, with its reason", async () => {
    const { client, signals } = unanswered();
    const controller = new AbortController();
    const { signal } = controller;
    const error = caught(client.chat.completions.create({ ...ask, stream: true }, { signal }));
    await delay(1);
    controller.abort("enough");
    expect(await error).toMatchObject({ name: "APIUserAbortError", cause: "enough" });
    expect(signals[0]?.aborted).toBe(true);
  });
});

describe("one of the two streams of `tee`", () => {
  const both = async (text: string) => {
    const { client, signals } = open(text);
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    return { two: stream.tee(), signals };
  };
  const whole = `${chunk("a")}${chunk("b")}data: [DONE]\n\n`;
  const leave = {
    "its block is left": (one: AsyncDisposable) => one[Symbol.asyncDispose](),
    "its lines are cancelled": (one: { toReadableStream(): ReadableStream }) =>
      one.toReadableStream().cancel(),
    "it is returned before it is read": (one: AsyncIterable<unknown>) =>
      one[Symbol.asyncIterator]().return?.(),
  };

  it.each(Object.entries(leave))("does not end the other when %s", async (_, end) => {
    const { two, signals } = await both(whole);
    await end(two[0]);
    expect(signals[0]?.aborted).toBe(false);
    expect(textOf(await collect(two[1]))).toBe("ab");
  });

  it.each(Object.entries(leave))("ends the request after the other when %s", async (_, end) => {
    const { two, signals } = await both(chunk("a"));
    for await (const _ of two[0]) break;
    expect(signals[0]?.aborted).toBe(false);
    await end(two[1]);
    expect(signals[0]?.aborted).toBe(true);
  });
});

describe("a stream that was read to its end", () => {
  it("leaves its connection open for the next request, whatever ends it once more", async () => {
    await using server = await loopback((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`${chunk("a")}data: [DONE]\n\n`);
    });
    const { completions } = newClient({ baseURL: server.url }).chat;
    for (let turn = 0; turn < 3; turn++) {
      const stream = await completions.create({ ...ask, stream: true });
      const items = stream[Symbol.asyncIterator]();
      for (;;) if ((await items.next()).done) break;
      await items.return();
      await stream[Symbol.asyncDispose]();
      await delay(20);
    }
    expect(server.connections()).toBe(1);
  });
});

describe("a stream with events", () => {
  const gc = async () => {
    const { setFlagsFromString } = await import("node:v8");
    const { runInNewContext } = await import("node:vm");
    setFlagsFromString("--expose-gc");
    await delay(10);
    (runInNewContext("gc") as () => void)();
  };
  /** A client whose stream has these many chunks and then waits for `end`. */
  function long(chunks: number) {
    let end = () => {};
    const fetch = async () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          const encoder = new TextEncoder();
          for (let number = 0; number < chunks; number++) controller.enqueue(encoder.encode(chunk("x")));
          end = () => {
            controller.enqueue(encoder.encode(`${chunk("!")}data: [DONE]\n\n`));
            controller.close();
          };
        },
      });
      return new Response(body);
    };
    return { completions: newClient({ fetch }).chat.completions, end: () => end() };
  }

  it("keeps no chunks that nobody iterates over", async () => {
    const { completions, end } = long(1_000);
    const chunks: WeakRef<ChatCompletionChunk>[] = [];
    const stream = completions.stream(ask).on("chunk", (one) => chunks.push(new WeakRef(one)));
    await expect.poll(() => chunks.length).toBe(1_000);
    await gc();
    expect(chunks.filter((one) => one.deref() !== undefined).length).toBeLessThan(10);
    end();
    expect(await stream.finalContent()).toBe(`${"x".repeat(1_000)}!`);
  });

  it("gives an iteration that begins late all that has come as one chunk", async () => {
    const { completions, end } = long(3);
    const seen: ChatCompletionChunk[] = [];
    const stream = completions.stream(ask).on("chunk", (one) => seen.push(one));
    await expect.poll(() => seen.length).toBe(3);
    const items = stream[Symbol.asyncIterator]();
    end();
    const chunks: ChatCompletionChunk[] = [];
    for await (const one of items) chunks.push(one);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content)).toEqual(["xxx", "!"]);
    expect(chunks[0]).toMatchObject({ id: "1", choices: [{ index: 0, delta: { content: "xxx" } }] });
    expect(await stream.finalContent()).toBe("xxx!");
  });

  it("gives an iteration after its end the whole answer", async () => {
    const { completions, end } = long(2);
    const stream = completions.stream(ask);
    await delay(1);
    end();
    await stream.done();
    expect(textOf(await collect(stream))).toBe("xx!");
  });

  it("gives an iteration after an error what has come, and the error", async () => {
    const fetch = async () => new Response(chunk("a"));
    const stream = newClient({ fetch }).chat.completions.stream(ask);
    await caught(stream.done());
    const read: string[] = [];
    const reading = async () => {
      for await (const one of stream) read.push(textOf([one]));
    };
    expect(await caught(reading())).toMatchObject({ name: "StreamInterruptedError" });
    expect(read).toEqual(["a"]);
  });
});
