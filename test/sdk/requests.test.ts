import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from "vitest";
import Ostiary, {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  type AuditEntry,
  type ChatCompletion,
  type ChatCompletionStream,
  type ClientOptions,
  type ErrorCode,
  NotFoundError,
  OstiaryError,
  type Page,
  PermissionDeniedError,
  RateLimitError,
} from "../../sdk/src/index.ts";
import { loopback } from "./loopback.ts";

const make = (options: ClientOptions = {}) => new Ostiary({ apiKey: "sk-test", maxRetries: 0, ...options });
const emptyList = () => Response.json({ object: "list", data: [] });
const caught = (promise: Promise<unknown>) => promise.catch((thrown: unknown) => thrown);

/** A `fetch` that gives these one after the other, the last one for ever, and counts. */
function inTurn(...answers: (() => Response)[]) {
  return vi.fn<typeof fetch>(async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return answer?.() ?? emptyList();
  });
}

const failing = (status: number, headers: Record<string, string> = {}) => {
  return () =>
    Response.json({ error: { message: "m", type: "t", param: null, code: null } }, { status, headers });
};

const unreachable = () => {
  throw new TypeError("fetch failed");
};

describe("an option", () => {
  it.each([
    { timeout: 0 },
    { timeout: Number.NaN },
    { maxRetries: -1 },
    { maxRetries: Number.NaN },
    { baseURL: "localhost:8080" },
    { baseURL: "ftp://service.example" },
    { baseURL: "https://service.example/#v1" },
  ])("that is not valid is an error at once: %o", (options) => {
    expect(() => make(options)).toThrow(OstiaryError);
  });

  it("may be undefined, as what it is read from may be", () => {
    expect(() => make({ baseURL: undefined, timeout: undefined, service: undefined })).not.toThrow();
  });

  it("lets a timeout be without limit", async () => {
    await expect(
      make({ timeout: Number.POSITIVE_INFINITY, fetch: inTurn(emptyList) }).models.list(),
    ).resolves.toBeDefined();
  });

  it("takes a runtime's own fetch, which refuses to be a method of something", async () => {
    const strict = function (this: unknown) {
      if (this !== undefined) throw new TypeError("Illegal invocation");
      return Promise.resolve(emptyList());
    };
    await expect(make({ fetch: strict }).models.list()).resolves.toBeDefined();
  });
});

describe("headers", () => {
  it("of the request go over the client's, and those over the SDK's", async () => {
    const fetch = inTurn(emptyList);
    await make({ fetch, defaultHeaders: { "x-a": "client", "X-B": "client", accept: "*/*" } }).models.list({
      headers: { "x-b": "request" },
    });
    const headers = new Headers(fetch.mock.calls[0]?.[1]?.headers);
    expect(Object.fromEntries(headers)).toEqual({
      accept: "*/*",
      authorization: "Bearer sk-test",
      "x-a": "client",
      "x-b": "request",
    });
  });
});

describe("a body that can't be sent", () => {
  it("is the caller's own error, and no attempt", async () => {
    const fetch = inTurn(emptyList);
    const body = { model: "m", messages: [], seed_of_ours: 1n };
    await expect(make({ fetch, maxRetries: 2 }).chat.completions.create(body)).rejects.toBeInstanceOf(
      TypeError,
    );
    expect(fetch).not.toHaveBeenCalled();
  });

  it("may hold fields that the types don't know", async () => {
    const fetch = inTurn(() => Response.json({ choices: [] }));
    await make({ fetch }).chat.completions.create({ model: "m", messages: [], top_k: 40 });
    expect(JSON.parse(String(fetch.mock.calls[0]?.[1]?.body))).toEqual({
      model: "m",
      messages: [],
      top_k: 40,
    });
  });
});

describe("an answer that is not the service's", () => {
  it("is an APIError with its status and headers, though it is a success", async () => {
    const fetch = inTurn(
      () =>
        new Response("<h1>Sign in</h1>", {
          headers: { "content-type": "text/html", "x-request-id": "req_9" },
        }),
    );
    const error = await caught(make({ fetch, maxRetries: 2 }).models.list());
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 200, code: null, requestId: "req_9" });
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it("that breaks off is an APIConnectionError, and is not asked for again: the work was done", async () => {
    let requests = 0;
    await using server = await loopback((_, response) => {
      requests++;
      response.writeHead(200, { "content-length": "1000" });
      response.write("{", () => response.destroy());
    });
    const error = await caught(make({ baseURL: server.url, maxRetries: 2 }).models.list());
    expect(error).toBeInstanceOf(APIConnectionError);
    expect(requests).toBe(1);
  });

  it("ends with the caller's signal while its body comes", async () => {
    const abort = new AbortController();
    await using server = await loopback((_, response) => {
      response.write("{", () => abort.abort());
    });
    const error = await caught(make({ baseURL: server.url }).models.list({ signal: abort.signal }));
    expect(error).toBeInstanceOf(APIUserAbortError);
  });
});

describe("an error answer", () => {
  it("keeps a code that is newer than this package", async () => {
    const body = { error: { message: "m", type: "t", param: null, code: "too_many_moons" } };
    const error = await caught(
      make({ fetch: inTurn(() => Response.json(body, { status: 403 })) }).models.list(),
    );
    if (!(error instanceof PermissionDeniedError)) throw error;
    expect(error).toMatchObject({ code: "too_many_moons", reason: null });
  });

  it.each([
    ["retry-after-ms", "1500", 1_500],
    ["retry-after-ms", "", null],
    ["retry-after", "2", 2_000],
    ["retry-after", "-1", null],
    ["retry-after", "soon", null],
    ["retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", 0],
  ])("says how long to wait: %s: %s", async (name, value, retryAfterMs) => {
    const error = await caught(make({ fetch: inTurn(failing(429, { [name]: value })) }).models.list());
    if (!(error instanceof RateLimitError)) throw error;
    expect(error.retryAfterMs).toBe(retryAfterMs);
  });

  it.each([
    ["nothing", ""],
    ["text", "no"],
    ["null", "null"],
    ["a list", "[]"],
    ["an error of another shape", '{"error":"no"}'],
  ])("whose body is %s has the class of its status", async (_, body) => {
    const error = await caught(
      make({ fetch: inTurn(() => new Response(body, { status: 404 })) }).models.list(),
    );
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ code: null, type: null, param: null, requestId: null });
  });
});

describe("time", () => {
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

  it("between attempts doubles from half a second, less up to a quarter", async () => {
    const fetch = inTurn(failing(500), unreachable, failing(503), emptyList);
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    const done = make({ fetch, maxRetries: 3 }).models.list();
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
    const again = inTurn(failing(500), emptyList);
    const sooner = make({ fetch: again, maxRetries: 1 }).models.list();
    await vi.advanceTimersByTimeAsync(375);
    expect(again).toHaveBeenCalledTimes(2);
    await sooner;
    random.mockRestore();
  });

  it("between attempts is what the service asks for, up to a minute", async () => {
    const fetch = inTurn(failing(429, { "retry-after": "60" }), emptyList);
    const done = make({ fetch, maxRetries: 1 }).models.list();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(fetch).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(fetch).toHaveBeenCalledTimes(2);
    await done;
    const longer = inTurn(failing(429, { "retry-after": "61" }), emptyList);
    await expect(make({ fetch: longer, maxRetries: 1 }).models.list()).rejects.toBeInstanceOf(RateLimitError);
    expect(longer).toHaveBeenCalledTimes(1);
  });

  it("is preferred in milliseconds over seconds", async () => {
    const fetch = inTurn(failing(503, { "retry-after-ms": "20", "retry-after": "1" }), emptyList);
    const done = make({ fetch, maxRetries: 1 }).models.list();
    await vi.advanceTimersByTimeAsync(20);
    expect(fetch).toHaveBeenCalledTimes(2);
    await done;
  });

  it("is limited for each attempt, by the request's own limit", async () => {
    silent.mockClear();
    const done = caught(
      make({ fetch: silent, timeout: 1e6, maxRetries: 5 }).models.list({ timeout: 1_000, maxRetries: 1 }),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    expect(silent).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(silent).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await done).toBeInstanceOf(APIConnectionTimeoutError);
  });

  it("is not limited between the pieces of a stream", async () => {
    const pieces = new TransformStream<Uint8Array, Uint8Array>();
    const writer = pieces.writable.getWriter();
    const client = make({ timeout: 1_000, fetch: inTurn(() => new Response(pieces.readable)) });
    const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
    const chunks = collect(stream);
    await vi.advanceTimersByTimeAsync(3_600_000);
    await writer.write(new TextEncoder().encode('data: {"choices":[]}\n\ndata: [DONE]\n\n'));
    expect(await chunks).toHaveLength(1);
  });

  it("for the body of an error is limited, so that the error comes", async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([1])) });
    // As a runtime's own fetch does: the signal ends the body.
    const stalled = vi.fn<typeof fetch>(async (_, init) => {
      const ending = new TransformStream();
      body.pipeTo(ending.writable, init?.signal ? { signal: init.signal } : {}).catch(() => {});
      return new Response(ending.readable, { status: 502 });
    });
    const error = caught(make({ fetch: stalled }).models.list());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await error).toMatchObject({ name: "InternalServerError", status: 502 });
  });

  it("leaves no timer behind", async () => {
    await make({ fetch: inTurn(emptyList) }).models.list();
    await caught(make({ fetch: inTurn(failing(400)) }).models.list());
    await caught(make({ fetch: inTurn(unreachable) }).models.list());
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the caller's signal", () => {
  it("that is already aborted sends nothing", async () => {
    const fetch = inTurn(emptyList);
    const error = await caught(make({ fetch }).models.list({ signal: AbortSignal.abort() }));
    expect(error).toBeInstanceOf(APIUserAbortError);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("is let go of when a request is over, for it may outlive many", async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    const stream = () => new Response("data: [DONE]\n\n");
    const fetch = inTurn(emptyList, failing(400), unreachable, stream);
    const client = make({ fetch });
    await client.models.list({ signal });
    await caught(client.models.list({ signal }));
    await caught(client.models.list({ signal }));
    await collect(
      await client.chat.completions.create({ model: "m", messages: [], stream: true }, { signal }),
    );
    expect(added).toHaveBeenCalledTimes(4);
    expect(new Set(removed.mock.calls.map(([, listener]) => listener))).toEqual(
      new Set(added.mock.calls.map(([, listener]) => listener)),
    );
  });
});

describe("a page", () => {
  const audit = (pages: { ids: string[]; has_more: boolean; next_cursor: string | null }[]) => {
    const urls: string[] = [];
    const fetch = async (input: string | URL | Request) => {
      urls.push(String(input));
      const { ids, ...rest } = pages[urls.length - 1] ?? { ids: [], has_more: false, next_cursor: null };
      const headers = { "x-request-id": `req_${urls.length}` };
      return Response.json({ object: "list", data: ids.map((id) => ({ id })), ...rest }, { headers });
    };
    return { urls, client: make({ fetch, baseURL: "http://service.example" }) };
  };

  it("leads to the next, and has its own request id", async () => {
    const { client, urls } = audit([
      { ids: ["a"], has_more: true, next_cursor: "c/1&=" },
      { ids: ["b"], has_more: false, next_cursor: null },
    ]);
    const first = await client.audit.list({ limit: 1 });
    const second = await first.nextPage();
    expect([first.requestId, second?.requestId]).toEqual(["req_1", "req_2"]);
    expect(second).toMatchObject({ data: [{ id: "b" }], hasMore: false, nextCursor: null });
    expect(await second?.nextPage()).toBeNull();
    expect(urls).toEqual([
      "http://service.example/v1/audit?limit=1",
      "http://service.example/v1/audit?limit=1&cursor=c%2F1%26%3D",
    ]);
  });

  it("without more is the last, though it names a cursor", async () => {
    const { client, urls } = audit([{ ids: ["a"], has_more: false, next_cursor: "z" }]);
    const ids: string[] = [];
    for await (const { id } of client.audit.list()) ids.push(id);
    expect(ids).toEqual(["a"]);
    expect(urls).toHaveLength(1);
  });

  it("that is empty does not end the list", async () => {
    const { client } = audit([
      { ids: [], has_more: true, next_cursor: "1" },
      { ids: ["a"], has_more: false, next_cursor: null },
    ]);
    const ids: string[] = [];
    for await (const { id } of client.audit.list()) ids.push(id);
    expect(ids).toEqual(["a"]);
  });

  it("is not asked for before it is needed", async () => {
    const { client, urls } = audit([{ ids: ["a", "b"], has_more: true, next_cursor: "1" }]);
    for await (const { id } of client.audit.list()) if (id === "b") break;
    expect(urls).toHaveLength(1);
  });

  it("that fails ends the iteration with the error", async () => {
    const fetch = inTurn(
      () => Response.json({ object: "list", data: [{ id: "a" }], has_more: true, next_cursor: "1" }),
      failing(401),
    );
    const ids: string[] = [];
    const read = async () => {
      for await (const { id } of make({ fetch }).audit.list()) ids.push(id);
    };
    await expect(read()).rejects.toMatchObject({ status: 401 });
    expect(ids).toEqual(["a"]);
  });
});

describe("the types", () => {
  it("tell a stream from a completion", () => {
    const { create } = make().chat.completions;
    type Completions = { create: typeof create };
    const typed = (completions: Completions, stream: boolean) => ({
      whole: () => completions.create({ model: "m", messages: [] }),
      streamed: () => completions.create({ model: "m", messages: [], stream: true }),
      either: () => completions.create({ model: "m", messages: [], stream }),
    });
    type Typed = ReturnType<typeof typed>;
    expectTypeOf<Typed["whole"]>().returns.resolves.toEqualTypeOf<ChatCompletion>();
    expectTypeOf<Typed["streamed"]>().returns.resolves.toEqualTypeOf<ChatCompletionStream>();
    expectTypeOf<Typed["either"]>().returns.resolves.toEqualTypeOf<ChatCompletion | ChatCompletionStream>();
  });

  it("narrow errors by class and code", () => {
    expectTypeOf<PermissionDeniedError["reason"]>().toEqualTypeOf<
      "account_suspended" | "ip_blocked" | "permission_denied" | null
    >();
    expectTypeOf<ErrorCode>().toExtend<APIError["code"]>();
    expectTypeOf<RateLimitError["retryAfterMs"]>().toEqualTypeOf<number | null>();
    expectTypeOf<Awaited<ReturnType<Ostiary["audit"]["list"]>>>().toEqualTypeOf<Page<AuditEntry>>();
  });
});

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
