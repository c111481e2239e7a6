import { getEventListeners } from "node:events";
import { createTRPCClient } from "@trpc/client";
import { describe, expect, it, vi } from "vitest";
import { APIUserAbortError, type StandardSchema, tool } from "../../sdk/src/index.ts";
import { type AppRouter, ostiaryLink } from "../../sdk/src/trpc.ts";
import { answersInTurn, caught, collect, deferred, newClient } from "./fake-service.ts";
import { loopback } from "./loopback.ts";

const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };

/** A `fetch` that never answers, with promises of its call and of the abort of its signal. */
function unanswered() {
  const asked = deferred<void>();
  const ended = deferred<void>();
  const fetch: typeof globalThis.fetch = (_, init) =>
    new Promise((_resolve, reject) => {
      asked.resolve();
      init?.signal?.addEventListener("abort", () => {
        ended.resolve();
        reject(new DOMException("aborted", "AbortError"));
      });
    });
  return { fetch, asked: asked.promise, ended: ended.promise };
}

describe("a stream with events whose answer has not begun", () => {
  it("ends its request when it is aborted", async () => {
    const { fetch, asked, ended } = unanswered();
    const stream = newClient({ fetch }).chat.completions.stream(ask);
    await asked;
    stream.abort();
    await ended;
    expect(await caught(stream.finalMessage())).toBeInstanceOf(APIUserAbortError);
  });

  it("sends nothing when it is aborted at once", async () => {
    const fetch = answersInTurn(() => new Response("data: [DONE]\n\n"));
    const aborted = AbortSignal.abort();
    const stream = newClient({ fetch }).chat.completions.stream(ask, { signal: aborted });
    expect(await caught(stream.done())).toBeInstanceOf(APIUserAbortError);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("ends its request when its block is left", async () => {
    const { fetch, asked, ended } = unanswered();
    const { completions } = newClient({ fetch }).chat;
    {
      await using stream = completions.stream(ask);
      stream.on("content", () => {});
      await asked;
    }
    await ended;
  });

  it("ends its request when its lines are cancelled", async () => {
    const { fetch, asked, ended } = unanswered();
    const lines = newClient({ fetch }).chat.completions.stream(ask).toReadableStream();
    await asked;
    await lines.cancel();
    await ended;
  });

  it("ends its request when the caller's signal is aborted", async () => {
    const { fetch, asked, ended } = unanswered();
    const leaving = new AbortController();
    const stream = newClient({ fetch }).chat.completions.stream(ask, { signal: leaving.signal });
    await asked;
    leaving.abort();
    await ended;
    expect(await caught(stream.done())).toBeInstanceOf(APIUserAbortError);
  });
});

describe("a stream with events", () => {
  it("keeps no listener of the caller's signal when it is over", async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    const fetch = answersInTurn(() => new Response('data: {"id":"1","choices":[]}\n\ndata: [DONE]\n\n'));
    await newClient({ fetch }).chat.completions.stream(ask, { signal }).done();
    expect(added).toHaveBeenCalled();
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
      added.mock.calls.map(([, listener]) => listener),
    );
  });

  it("ends its request when its loop is left", async () => {
    let signal: AbortSignal | null | undefined;
    const fetch: typeof globalThis.fetch = async (_, init) => {
      signal = init?.signal;
      const first = new TextEncoder().encode('data: {"id":"1","choices":[]}\n\n');
      return new Response(new ReadableStream({ start: (controller) => controller.enqueue(first) }));
    };
    for await (const _ of newClient({ fetch }).chat.completions.stream(ask)) break;
    expect(signal?.aborted).toBe(true);
  });
});

describe("a stream that is aborted before it is read", () => {
  it("ends, although its body ignores the signal", async () => {
    const leaving = new AbortController();
    const fetch = answersInTurn(() => new Response(new ReadableStream()));
    const { completions } = newClient({ fetch }).chat;
    const stream = await completions.create({ ...ask, stream: true }, { signal: leaving.signal });
    leaving.abort();
    expect(await caught(collect(stream))).toBeInstanceOf(APIUserAbortError);
  });
});

describe("an export", () => {
  const line = '{"id":"1","cursor":"5~019b0000-0000-7000-8000-000000000000~1-1"}\n';
  /** An answer that begins, does not end, and ignores the request's signal. */
  const ignoring = (cancel: () => void) =>
    answersInTurn(() => {
      const start = (controller: ReadableStreamDefaultController) =>
        controller.enqueue(new TextEncoder().encode(line));
      return new Response(new ReadableStream({ start, cancel }));
    });

  it("ends with the caller's signal, although its body ignores the signal", async () => {
    const leaving = new AbortController();
    const cancelled = vi.fn();
    const lines = newClient({ fetch: ignoring(cancelled) }).audit.export({}, { signal: leaving.signal });
    const read = async () => {
      for await (const _ of lines) leaving.abort();
    };
    expect(await caught(read())).toBeInstanceOf(APIUserAbortError);
    expect(cancelled).toHaveBeenCalledOnce();
  });

  it("ends its body when its loop is left, although the body ignores the signal", async () => {
    const cancelled = vi.fn();
    for await (const _ of newClient({ fetch: ignoring(cancelled) }).audit.export()) break;
    expect(cancelled).toHaveBeenCalledOnce();
  });
});

describe("a run with tools", () => {
  /** A schema that accepts every value at once. */
  const anything: StandardSchema<unknown> = {
    "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) },
  };
  const act = (run: () => unknown) =>
    tool({ name: "act", schema: anything, jsonSchema: { type: "object", properties: {} }, run });
  const calling = () => {
    const call = { id: "1", type: "function", function: { name: "act", arguments: "{}" } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    return answersInTurn(() =>
      Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }] }),
    );
  };

  it("calls no function after a listener has aborted it", async () => {
    const run = vi.fn(() => "done");
    const { completions } = newClient({ fetch: calling() }).chat;
    const work = completions.runTools({ ...ask, tools: [act(run)] });
    work.on("toolCall", () => work.abort());
    expect(await caught(work.done())).toBeInstanceOf(APIUserAbortError);
    expect(run).not.toHaveBeenCalled();
  });

  it("ends when a function aborts it and then never returns", async () => {
    const leaving = new AbortController();
    const leave = () => {
      leaving.abort();
      return new Promise(() => {});
    };
    const { completions } = newClient({ fetch: calling() }).chat;
    const work = completions.runTools({ ...ask, tools: [act(leave)] }, { signal: leaving.signal });
    expect(await caught(work.done())).toBeInstanceOf(APIUserAbortError);
  });
});

describe("a subscription of tRPC's client whose signal is already aborted", () => {
  it("ends, and nothing is sent", async () => {
    const fetch = answersInTurn(() => new Response("event: connected\ndata: {}\n\n"));
    const trpc = createTRPCClient<AppRouter>({ links: [ostiaryLink({ managementToken: "t", fetch })] });
    await new Promise<void>((resolve, reject) => {
      trpc.audit.tail.subscribe(
        {},
        { signal: AbortSignal.abort(), onComplete: resolve, onStopped: resolve, onError: reject },
      );
    });
    expect(fetch).not.toHaveBeenCalled();
  });
});

describe("a `fetch` that ignores the signal of its request", () => {
  const never: typeof globalThis.fetch = () => new Promise(() => {});
  const reason = new Error("the user left");

  it("is not waited for after `timeout`", async () => {
    const error = await caught(newClient({ fetch: never, timeout: 20 }).models.list());
    expect(error).toMatchObject({ name: "APIConnectionTimeoutError", option: "timeout" });
  });

  it("is not waited for after the caller's signal is aborted, and its late answer is discarded", async () => {
    const leaving = new AbortController();
    const cancelled = deferred<void>();
    const answer = deferred<Response>();
    const list = newClient({ fetch: () => answer.promise }).models.list({ signal: leaving.signal });
    const error = caught(list);
    setTimeout(() => leaving.abort(reason), 1);
    expect(await error).toMatchObject({ name: "APIUserAbortError", cause: reason });
    answer.resolve(new Response(new ReadableStream({ cancel: () => cancelled.resolve() })));
    await cancelled.promise;
  });

  it("is not waited for in the middle of its answer", async () => {
    const leaving = new AbortController();
    const fetch = answersInTurn(() => new Response(new ReadableStream()));
    const list = newClient({ fetch }).models.list({ signal: leaving.signal });
    const error = caught(list);
    setTimeout(() => leaving.abort(reason), 1);
    expect(await error).toBeInstanceOf(APIUserAbortError);
  });
});

describe("a signal of many requests at once", () => {
  it("has one listener, so that Node does not warn of a leak, and in the end none", async () => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const listeners = () => getEventListeners(signal, "abort").length;
    const answer = deferred<void>();
    const fetch: typeof globalThis.fetch = async () => {
      await answer.promise;
      return Response.json({ object: "list", data: [] });
    };
    const lists = Array.from({ length: 20 }, () => newClient({ fetch }).models.list({ signal }));
    await vi.waitFor(() => expect(listeners()).toBe(1));
    answer.resolve();
    await Promise.all(lists);
    expect(listeners()).toBe(0);

    const { fetch: silent, asked } = unanswered();
    const ended = Array.from({ length: 20 }, () =>
      caught(newClient({ fetch: silent }).models.list({ signal })),
    );
    await asked;
    leaving.abort();
    for (const error of await Promise.all(ended)) expect(error).toBeInstanceOf(APIUserAbortError);
    expect(listeners()).toBe(0);
  });
});

describe("the reason of the caller's signal", () => {
  it("is the cause of the error, whatever sends the request and however far it is", async () => {
    await using server = await loopback((request, response) => {
      if (request.url === "/v1/models") return;
      response.writeHead(200, { "content-type": "text/plain" }).write(":");
    });
    const reason = new Error("the user left");
    for (const send of [undefined, globalThis.fetch]) {
      const client = newClient({ baseURL: server.url, fetch: send });
      const asking: ((signal: AbortSignal) => Promise<unknown>)[] = [
        (signal) => client.models.list({ signal }),
        (signal) => client.models.retrieve("m", { signal }),
        (signal) => collect(client.chat.completions.create({ ...ask, stream: true }, { signal })),
        (signal) => client.chat.completions.stream(ask, { signal }).done(),
        (signal) => collect(client.audit.export({}, { signal })),
        (signal) => collect(client.audit.tail({}, { signal })),
        (signal) => client.chat.completions.runTools({ ...ask, tools: [] }, { signal }).done(),
      ];
      for (const [index, start] of asking.entries()) {
        const leaving = new AbortController();
        const error = caught(start(leaving.signal));
        setTimeout(() => leaving.abort(reason), 50);
        expect(await error, String(index)).toMatchObject({ name: "APIUserAbortError", cause: reason });
      }
    }
  });

  it("is the cause of the error, before and between attempts too", async () => {
    const reason = new Error("the user left");
    const before = await caught(newClient().models.list({ signal: AbortSignal.abort(reason) }));
    expect(before).toMatchObject({ name: "APIUserAbortError", cause: reason });
    const leaving = new AbortController();
    const fetch = answersInTurn(() => new Response("", { status: 503, headers: { "retry-after": "50" } }));
    const waiting = caught(newClient({ fetch, maxRetries: 1 }).models.list({ signal: leaving.signal }));
    setTimeout(() => leaving.abort(reason), 20);
    expect(await waiting).toMatchObject({ name: "APIUserAbortError", cause: reason });
  });
});
