import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { APIConnectionTimeoutError, RateLimitError } from "../../sdk/src/index.ts";
import {
  answersInTurn,
  caught,
  collect,
  emptyList,
  failing,
  newClient,
  unreachable,
} from "./fake-service.ts";

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

  it("uses the delay that the service asks for, up to a minute", async () => {
    const fetch = answersInTurn(failing(429, { "retry-after": "60" }), emptyList);
    const done = newClient({ fetch, maxRetries: 1 }).models.list();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(fetch).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(fetch).toHaveBeenCalledTimes(2);
    await done;
    const longer = answersInTurn(failing(429, { "retry-after": "61" }), emptyList);
    await expect(newClient({ fetch: longer, maxRetries: 1 }).models.list()).rejects.toBeInstanceOf(
      RateLimitError,
    );
    expect(longer).toHaveBeenCalledTimes(1);
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

  it("has no timeout between the pieces of a stream", async () => {
    const pieces = new TransformStream<Uint8Array, Uint8Array>();
    const writer = pieces.writable.getWriter();
    const client = newClient({ timeout: 1_000, fetch: answersInTurn(() => new Response(pieces.readable)) });
    const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
    const chunks = collect(stream);
    await vi.advanceTimersByTimeAsync(3_600_000);
    await writer.write(new TextEncoder().encode('data: {"choices":[]}\n\ndata: [DONE]\n\n'));
    expect(await chunks).toHaveLength(1);
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

  it("leaves no timer behind", async () => {
    await newClient({ fetch: answersInTurn(emptyList) }).models.list();
    await caught(newClient({ fetch: answersInTurn(failing(400)) }).models.list());
    await caught(newClient({ fetch: answersInTurn(unreachable) }).models.list());
    expect(vi.getTimerCount()).toBe(0);
  });
});
