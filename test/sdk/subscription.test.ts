import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { APIError } from "../../sdk/src/index.ts";
import { answersInTurn, caught, collect, newClient, unreachable } from "./fake-service.ts";

const events = (text: string) => () =>
  new Response(text, { headers: { "content-type": "text/event-stream" } });
const connected = "event: connected\ndata: {}\n\n";
const returned = events("event: return\ndata: {}\n\n");
const tail = (fetch: typeof globalThis.fetch) =>
  collect(newClient({ managementToken: "t", fetch }).trpc.audit.tail.subscribe({}));

describe("a subscription", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it.each([
    ["that is not JSON", "data: entries"],
    ["of another form", "data: []"],
    ["with unknown types", 'data: {"json":{},"meta":{"values":["Map"]}}'],
    ["of an error that is not JSON", "event: serialized-error\ndata: <html>"],
  ])("throws for an event %s, and does not ask for it again", async (_, event) => {
    const fetch = answersInTurn(events(`${connected}id: 1\n${event}\n\n`), returned);
    const error = await caught(tail(fetch));
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ message: expect.stringContaining("not from the service") });
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it.each([new Error("the connection broke"), new TypeError("terminated"), { reason: "gone" }])(
    "continues after a connection that breaks, whatever the runtime's error: %s",
    async (reason) => {
      const broken = () =>
        new Response(new ReadableStream({ pull: (controller) => controller.error(reason) }));
      const fetch = answersInTurn(broken, returned);
      const items = tail(fetch);
      await vi.advanceTimersByTimeAsync(500);
      expect(await items).toEqual([]);
      expect(fetch).toHaveBeenCalledTimes(2);
    },
  );

  it("continues after an event that its connection's end cuts off", async () => {
    const fetch = answersInTurn(events(`${connected}id: 1\ndata: {"js`), returned);
    const items = tail(fetch);
    await vi.advanceTimersByTimeAsync(500);
    expect(await items).toEqual([]);
    expect(fetch).toHaveBeenCalledTimes(2);
  });
});

describe("the waits after lost connections", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** A `fetch` that is never connected, and the milliseconds between its calls. */
  function lost() {
    const times: number[] = [];
    const fetch = answersInTurn(() => {
      times.push(Date.now());
      return unreachable();
    });
    return { fetch, waits: () => times.slice(1).map((time, index) => time - (times[index] ?? 0)) };
  }
  const doubled = [500, 1_000, 2_000, 4_000, 8_000];

  it.each([
    ["no less", 0, 1],
    ["a quarter less", 1, 0.75],
  ])("double up to 15 seconds in a subscription, and are random: %s", async (_, random, share) => {
    vi.spyOn(Math, "random").mockReturnValue(random);
    const { fetch, waits } = lost();
    const leaving = new AbortController();
    const client = newClient({ managementToken: "t", fetch });
    const ended = caught(collect(client.trpc.audit.tail.subscribe({}, { signal: leaving.signal })));
    await vi.advanceTimersByTimeAsync(60_000);
    leaving.abort();
    expect(await ended).toMatchObject({ name: "APIUserAbortError" });
    expect(waits().slice(0, 7)).toEqual([...doubled, 15_000, 15_000].map((ms) => ms * share));
  });

  it.each([
    ["no less", 0, 1],
    ["a quarter less", 1, 0.75],
  ])("double up to a minute in an export, and are random: %s", async (_, random, share) => {
    vi.spyOn(Math, "random").mockReturnValue(random);
    const { fetch, waits } = lost();
    const ended = caught(collect(newClient({ fetch }).audit.export({})));
    await vi.advanceTimersByTimeAsync(200_000);
    expect(await ended).toMatchObject({ name: "APIConnectionError" });
    expect(waits()).toEqual([...doubled, 16_000, 32_000, 60_000].map((ms) => ms * share));
  });
});
