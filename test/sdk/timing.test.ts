import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { APIConnectionTimeoutError, type ClientOptions, RateLimitError } from "../../sdk/src/index.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { Slot } from "../../server/src/contract/limits.ts";
import { Failure, headersOf } from "../../server/src/errors/failure.ts";
import {
  answersInTurn,
  caught,
  collect,
  emptyList,
  failing,
  newClient,
  unreachable,
} from "./fake-service.ts";

/** A client whose stream has begun and says what a test writes. */
function silentStream(options: ClientOptions) {
  const pieces = new TransformStream<Uint8Array, Uint8Array>(undefined, undefined, { highWaterMark: 100 });
  const writer = pieces.writable.getWriter();
  let cancelled = false;
  writer.closed.catch(() => {
    cancelled = true;
  });
  return {
    client: newClient({ ...options, fetch: answersInTurn(() => new Response(pieces.readable)) }),
    write: (text: string) => writer.write(new TextEncoder().encode(text)),
    isCancelled: () => cancelled,
  };
}

describe("the timing of requests", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A `fetch` whose answer never begins. */
  const silent = vi.fn<typeof fetch>(
    (_, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      }),
  );

  it("doubles the delay between attempts from half a second, less up to a quarter", async () => {
    const fetch = answersInTurn(failing(500), unreachable, failing(503), emptyList);
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    const done = newClient({ fetch, maxRetries: 3 }).models.list();
    for (const [waitMs, calls] of [
      [0, 1],
      [499, 1],
      [1, 2],
      [999, 2],
      [1, 3],
      [1_999, 3],
      [1, 4],
    ] as const) {
      await vi.advanceTimersByTimeAsync(waitMs);
      expect(fetch).toHaveBeenCalledTimes(calls);
    }
    await done;
    random.mockReturnValue(1);
    const again = answersInTurn(failing(500), emptyList);
    const sooner = newClient({ fetch: again, maxRetries: 1 }).models.list();
    await vi.advanceTimersByTimeAsync(375);
    expect(again).toHaveBeenCalledTimes(2);
    await sooner;
    random.mockRestore();
  });

  it("uses the delay that the service asks for, up to a minute and a half", async () => {
    const fetch = answersInTurn(failing(429, { "retry-after": "90" }), emptyList);
    const done = newClient({ fetch, maxRetries: 1 }).models.list();
    await vi.advanceTimersByTimeAsync(89_999);
    expect(fetch).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(fetch).toHaveBeenCalledTimes(2);
    await done;
    const longer = answersInTurn(failing(429, { "retry-after": "91" }), emptyList);
    await expect(newClient({ fetch: longer, maxRetries: 1 }).models.list()).rejects.toBeInstanceOf(
      RateLimitError,
    );
    expect(longer).toHaveBeenCalledTimes(1);
  });

  it("waits for as long as the service asks when a minute's limit is reached at once", async () => {
    const limits = { requestsPerMinute: 2, tokensPerMinute: null, concurrentRequests: null };
    const account = "account" as AccountId;
    vi.setSystemTime(Math.ceil(Date.now() / 1_000) * 1_000);
    const store = new MemoryAdmissionStore(10, () => Date.now());
    let asked: string | undefined;
    const fetch = vi.fn<typeof globalThis.fetch>(async () => {
      const slot = crypto.randomUUID() as Slot;
      const admission = await store.admit(account, 1n, { limits, tokens: 0, slot });
      if (admission.kind === "admitted") return emptyList();
      if (admission.kind !== "limited") throw new Error(admission.kind);
      const { retryAfterMs } = admission;
      const headers = headersOf(new Failure("rate_limit_exceeded", "m", { retryAfterMs }));
      asked = headers["retry-after"];
      return failing(429, headers)();
    });
    const client = newClient({ fetch, maxRetries: 1 });
    await store.commitRead(account, 1n, await store.epoch());
    await client.models.list();
    await client.models.list();
    const third = client.models.list();
    await vi.advanceTimersByTimeAsync(61_000);
    await third;
    // The longest wait that a limit per minute can ask for.
    expect(asked).toBe("61");
    expect(fetch).toHaveBeenCalledTimes(4);
  });

  it("reads a delay that a proxy has repeated, and none of a text that is no number of seconds, of zero or of a time that is past", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    for (const [text, ms] of [
      ["5, 5", 5_000],
      ["2,7", 2_000],
      ["-1", 500],
      ["1e3", 500],
      ["5 apples", 500],
      ["Infinity", 500],
      ["0", 500],
      // A proxy may send a time, which is past for a client whose clock is ahead.
      ["Wed, 21 Oct 2015 07:28:00 GMT", 500],
    ] as const) {
      const fetch = answersInTurn(failing(429, { "retry-after": text }), emptyList);
      const done = newClient({ fetch, maxRetries: 1 }).models.list();
      await vi.advanceTimersByTimeAsync(ms - 1);
      expect(fetch, text).toHaveBeenCalledTimes(1);
      await vi.advanceTimersByTimeAsync(1);
      expect(fetch, text).toHaveBeenCalledTimes(2);
      await done;
    }
    vi.restoreAllMocks();
  });

  it("prefers a delay in milliseconds over one in seconds", async () => {
    const fetch = answersInTurn(failing(503, { "retry-after-ms": "20", "retry-after": "1" }), emptyList);
    const done = newClient({ fetch, maxRetries: 1 }).models.list();
    await vi.advanceTimersByTimeAsync(20);
    expect(fetch).toHaveBeenCalledTimes(2);
    await done;
  });

  it("applies the request's own timeout to each attempt", async () => {
    silent.mockClear();
    const done = caught(
      newClient({ fetch: silent, timeout: 1e6, maxRetries: 5 }).models.list({
        timeout: 1_000,
        maxRetries: 1,
      }),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    expect(silent).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(silent).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await done).toBeInstanceOf(APIConnectionTimeoutError);
  });

  it("ends a stream that is silent for streamIdleTimeout, and names it", async () => {
    for (const [options, ms] of [
      [{}, 120_000],
      [{ streamIdleTimeout: 30_000 }, 30_000],
    ] as const) {
      const { client, write, isCancelled } = silentStream(options);
      const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
      const chunks = caught(collect(stream));
      await write('data: {"choices":[]}\n\n');
      await vi.advanceTimersByTimeAsync(ms - 1);
      expect(isCancelled()).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(await chunks).toMatchObject({ name: "APIConnectionTimeoutError", option: "streamIdleTimeout" });
      expect(isCancelled()).toBe(true);
    }
  });

  it("counts heartbeats as data, and does not count the time that the reader takes", async () => {
    const { client, write } = silentStream({ timeout: 1_000 });
    const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
    const chunks = stream[Symbol.asyncIterator]();
    const first = chunks.next();
    for (let minute = 0; minute < 60; minute++) {
      await vi.advanceTimersByTimeAsync(60_000);
      await write(": waiting\n\n");
    }
    await write('data: {"choices":[]}\n\n');
    expect((await first).done).toBe(false);
    await vi.advanceTimersByTimeAsync(3_600_000);
    await write("data: [DONE]\n\n");
    expect((await chunks.next()).done).toBe(true);
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
  });

  it("ends an export that is silent for streamIdleTimeout, which then resumes", async () => {
    const fetch = answersInTurn(
      () => new Response(new ReadableStream()),
      () => new Response('{"cursor":"c1"}\n'),
    );
    const lines = collect(newClient({ fetch }).audit.export({}, { streamIdleTimeout: 5_000 }));
    await vi.advanceTimersByTimeAsync(5_500);
    expect(await lines).toEqual(['{"cursor":"c1"}']);
  });

  it("applies the timeout to the whole of an answer", async () => {
    const late = vi.fn<typeof fetch>(async () => {
      await new Promise((resolve) => setTimeout(resolve, 600));
      return new Response(new ReadableStream());
    });
    const error = caught(newClient({ fetch: late, timeout: 1_000 }).models.list());
    await vi.advanceTimersByTimeAsync(999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await error).toMatchObject({ name: "APIConnectionTimeoutError", option: "timeout" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits for an earlier attempt that is being answered, for the timeout of each attempt", async () => {
    const inUse = () =>
      Response.json(
        { error: { message: "m", type: "t", param: null, code: "idempotency_key_in_use" } },
        { status: 409, headers: { "retry-after": "1" } },
      );
    const fetch = answersInTurn(inUse);
    const client = newClient({ fetch, timeout: 10_000, maxRetries: 1 });
    const error = caught(client.chat.completions.create({ model: "m", messages: [] }));
    await vi.advanceTimersByTimeAsync(19_000);
    expect(fetch).toHaveBeenCalledTimes(20);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await error).toMatchObject({ name: "ConflictError", code: "idempotency_key_in_use" });
    expect(fetch.mock.calls.length).toBeLessThan(25);
  });

  it("has a timeout for the body of an error, so that the error is thrown", async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([1])) });
    // As a runtime's own fetch does: the signal ends the body.
    const stalled = vi.fn<typeof fetch>(async (_, init) => {
      const ending = new TransformStream();
      body.pipeTo(ending.writable, init?.signal ? { signal: init.signal } : {}).catch(() => {});
      return new Response(ending.readable, { status: 502 });
    });
    const error = caught(newClient({ fetch: stalled }).models.list());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await error).toMatchObject({ name: "InternalServerError", status: 502 });
  });

  it("waits for the body of an error no longer than for the whole answer", async () => {
    const stalled = answersInTurn(() => new Response(new ReadableStream(), { status: 502 }));
    let error: unknown = null;
    const asked = caught(newClient({ fetch: stalled, timeout: 500 }).models.list()).then((thrown) => {
      error = thrown;
    });
    await vi.advanceTimersByTimeAsync(500);
    expect(error).toMatchObject({ name: "InternalServerError", status: 502 });
    await asked;
  });

  it("reads no body of an error to its end that is endless", async () => {
    let readBytes = 0;
    const body = () =>
      new ReadableStream({
        pull: (controller) => {
          // Without a bound, the timers of this test would never end it.
          if (readBytes > 16 * 1_048_576) throw new Error("there is no bound");
          readBytes += 65_536;
          controller.enqueue(new Uint8Array(65_536));
        },
      });
    const client = newClient({ fetch: answersInTurn(() => new Response(body(), { status: 403 })) });
    expect(await caught(client.models.list())).toMatchObject({ name: "PermissionDeniedError", status: 403 });
    expect(readBytes).toBeLessThan(2 * 1_048_576);
  });

  it("leaves no timer behind", async () => {
    await newClient({ fetch: answersInTurn(emptyList) }).models.list();
    await caught(newClient({ fetch: answersInTurn(failing(400)) }).models.list());
    await caught(newClient({ fetch: answersInTurn(unreachable) }).models.list());
    expect(vi.getTimerCount()).toBe(0);
  });
});
