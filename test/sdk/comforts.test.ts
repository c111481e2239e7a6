import { describe, expect, expectTypeOf, it, vi } from "vitest";
import {
  APIConnectionError,
  type Model,
  OstiaryError,
  type RequestEvent,
  type ResponseEvent,
  VERSION,
} from "../../sdk/src/index.ts";
import {
  answersInTurn,
  caught,
  deferred,
  emptyList,
  failing,
  newClient,
  unreachable,
} from "./fake-service.ts";

const ask = { model: "m", messages: [{ role: "user" as const, content: "my prompt" }] };
const completion = () => Response.json({ choices: [{ message: { content: "my answer" } }] });

/** The URL and headers of the requests that a `fetch` got. */
const requestsOf = ({ mock }: ReturnType<typeof answersInTurn>) =>
  mock.calls.map(([url, init]) => ({ url: String(url), headers: new Headers(init?.headers), init }));

describe("a client with other options", () => {
  it("has all the others, the listeners so far, and does not change the first client", async () => {
    const fetch = answersInTurn(emptyList);
    const seen: string[] = [];
    const client = newClient({ fetch, baseURL: "http://one.example", defaultHeaders: { "x-a": "1" } });
    client.on("request", ({ path }) => seen.push(path));
    const other = client.withOptions({ baseURL: "http://two.example" });
    await other.models.list();
    await client.models.list();
    const requests = requestsOf(fetch);
    expect(requests.map(({ url }) => url)).toEqual([
      "http://two.example/v1/models",
      "http://one.example/v1/models",
    ]);
    expect(requests.every(({ headers }) => headers.get("x-a") === "1")).toBe(true);
    expect(requests[0]?.headers.get("authorization")).toBe("Bearer sk-test");
    expect(seen).toEqual(["/models", "/models"]);
  });
});

describe("a request to a path", () => {
  it("has the query, the body and the type that the caller states", async () => {
    const fetch = answersInTurn(() => Response.json({ id: "m" }, { headers: { "x-request-id": "r" } }));
    const client = newClient({ fetch, baseURL: "http://one.example" });
    const model = await client.get<Model>("/models/m", {
      query: { a: "1 2", b: undefined, c: true, d: 0, e: null },
    });
    expectTypeOf(model).toEqualTypeOf<Model>();
    const { data, requestId } = await client
      .post<{ id: string }>("/things?x=1", { body: { b: 1 }, query: { y: 2 } })
      .withResponse();
    expect([model.id, data.id, requestId]).toEqual(["m", "m", "r"]);
    const [got, posted] = requestsOf(fetch);
    expect(got?.url).toBe("http://one.example/v1/models/m?a=1+2&c=true&d=0");
    expect(got?.init).toMatchObject({ method: "GET", body: null });
    expect(posted?.url).toBe("http://one.example/v1/things?x=1&y=2");
    expect(posted?.init).toMatchObject({ method: "POST", body: '{"b":1}' });
    expect(await (await client.get("/models").asResponse()).json()).toEqual({ id: "m" });
  });

  it.each([
    "models",
    "//evil.example/x",
    "https://evil.example",
    "/../trpc/keys.list",
    "/\\evil.example",
    "",
  ])("is refused if it does not lead below /v1: %j", (path) => {
    const fetch = answersInTurn(emptyList);
    expect(() => newClient({ fetch }).get(path)).toThrow(OstiaryError);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("has the query of its options with every method", async () => {
    const fetch = answersInTurn(emptyList);
    const client = newClient({ fetch, baseURL: "http://one.example" });
    await client.models.list({ query: { x: 1 } });
    await client.audit.list({ limit: 2 }, { query: { x: 1 } });
    expect(requestsOf(fetch).map(({ url }) => new URL(url).search)).toEqual(["?x=1", "?limit=2&x=1"]);
  });
});

describe("options of `fetch`", () => {
  it("are those of the client and the request, and change neither headers nor redirects", async () => {
    const fetch = answersInTurn(emptyList);
    const client = newClient({ fetch, fetchOptions: { cache: "no-store", client: "own" } });
    await client.models.list({ fetchOptions: { client: "other", keepalive: true } });
    const redirected = { redirect: "follow", headers: {} };
    await client.models.list({ fetchOptions: redirected });
    const [first, second] = requestsOf(fetch);
    expect(first?.init).toMatchObject({ cache: "no-store", client: "other", keepalive: true });
    expect(second?.init).toMatchObject({ redirect: "manual" });
    expect(second?.headers.get("authorization")).toBe("Bearer sk-test");
  });
});

describe("the client's user agent", () => {
  it.each([
    [undefined, `ostiary-node/${VERSION}`],
    [{ name: "my-app" }, `ostiary-node/${VERSION} (my-app)`],
    [
      { name: "my-app", version: "1.2", url: "https://my.app" },
      `ostiary-node/${VERSION} (my-app/1.2; https://my.app)`,
    ],
  ])("names the package and the application: %o", async (appInfo, expected) => {
    const fetch = answersInTurn(emptyList);
    await newClient({ fetch, appInfo }).models.list();
    expect(requestsOf(fetch)[0]?.headers.get("user-agent")).toBe(expected);
  });

  it("gives way to a header of the caller's, and is not sent by web pages", async () => {
    const fetch = answersInTurn(emptyList);
    await newClient({ fetch, defaultHeaders: { "User-Agent": "own" } }).models.list();
    vi.stubGlobal("window", { document: {} });
    await newClient({ fetch, dangerouslyAllowBrowser: true }).models.list();
    vi.unstubAllGlobals();
    expect(requestsOf(fetch).map(({ headers }) => headers.get("user-agent"))).toEqual(["own", null]);
  });

  it("cannot contain another header", () => {
    expect(() => newClient({ appInfo: { name: "a\r\nx-b: c" } })).toThrow(OstiaryError);
  });
});

describe("a client's events", () => {
  it("tell of each attempt and its outcome", async () => {
    const fetch = answersInTurn(
      unreachable,
      failing(503, { "retry-after-ms": "1", "x-request-id": "r1" }),
      completion,
    );
    const requests: RequestEvent[] = [];
    const responses: ResponseEvent[] = [];
    const client = newClient({ fetch, maxRetries: 2 })
      .on("request", (event) => requests.push(event))
      .on("response", (event) => responses.push(event));
    await client.chat.completions.create(ask, { idempotencyKey: "k" });
    const common = { method: "POST", path: "/chat/completions", idempotencyKey: "k" };
    expect(requests).toEqual([0, 1, 2].map((attempt) => ({ ...common, attempt })));
    expect(responses).toMatchObject([
      { ...common, attempt: 0, status: null, requestId: null, error: expect.any(APIConnectionError) },
      { ...common, attempt: 1, status: 503, requestId: "r1", error: null },
      { ...common, attempt: 2, status: 200, error: null },
    ]);
    expect(responses.every(({ elapsedMs }) => elapsedMs >= 0)).toBe(true);
  });

  it("are not sent to a listener that was removed", async () => {
    const listener = vi.fn();
    const client = newClient({ fetch: answersInTurn(emptyList) }).on("request", listener);
    await client.off("request", listener).models.list();
    expect(listener).not.toHaveBeenCalled();
  });

  it("do not fail a request when a listener throws: the error is an unhandled rejection", async () => {
    const unhandled = deferred<unknown>();
    const own = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.once("unhandledRejection", unhandled.resolve);
    const client = newClient({ fetch: answersInTurn(emptyList) }).on("request", () => {
      throw new Error("by the listener");
    });
    await client.models.list();
    expect(await unhandled.promise).toMatchObject({ message: "by the listener" });
    for (const listener of own) process.on("unhandledRejection", listener);
  });
});

describe("a logger that throws", () => {
  it("does not fail a request: its error is an unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const own = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", (error) => unhandled.push(error));
    const debug = () => {
      throw new Error("by the logger");
    };
    const logger = { debug, info: debug, warn: debug, error: debug };
    await newClient({ fetch: answersInTurn(emptyList), logLevel: "debug", logger }).models.list();
    await expect.poll(() => unhandled.length).toBe(2);
    process.removeAllListeners("unhandledRejection");
    for (const listener of own) process.on("unhandledRejection", listener);
  });
});

describe("the log at level debug", () => {
  it("has every attempt with its headers, and no secret, prompt or answer", async () => {
    const said: string[] = [];
    const log = (...details: unknown[]) => said.push(JSON.stringify(details));
    const client = newClient({
      fetch: answersInTurn(failing(503, { "retry-after-ms": "1" }), completion),
      apiKey: "sk-my-secret",
      maxRetries: 1,
      logLevel: "debug",
      logger: { debug: log, info: log, warn: log, error: log },
      defaultHeaders: { cookie: "my-secret", "x-token": "my-secret" },
    });
    await client.chat.completions.create(ask, { query: { token: "my-secret" } });
    const text = said.join("\n");
    expect(text).toContain('"x-token":"…"');
    expect(text).toContain(`"user-agent":"ostiary-node/${VERSION}"`);
    expect(text).toMatch(/"status":503.*\n.*trying again.*\n.*"attempt":1.*\n.*"status":200/);
    for (const secret of ["my-secret", "my prompt", "my answer"]) expect(text).not.toContain(secret);
  });
});

describe("a list", () => {
  const pages = () => {
    const fetch = answersInTurn(
      () =>
        Response.json(
          { data: [{ id: "a" }, { id: "b" }], has_more: true, next_cursor: "1" },
          { headers: { "x-request-id": "r" } },
        ),
      () => Response.json({ data: [{ id: "c" }], has_more: false, next_cursor: null }),
    );
    return { fetch, client: newClient({ fetch }) };
  };

  it.each([
    [0, 1, []],
    [2, 1, ["a", "b"]],
    [3, 2, ["a", "b", "c"]],
    [10, 2, ["a", "b", "c"]],
  ])("becomes an array of at most %i items, by %i requests", async (limit, requests, ids) => {
    const { client, fetch } = pages();
    const entries = await client.audit.list().toArray({ limit });
    expect(entries.map(({ id }) => id)).toEqual(ids);
    expect(fetch).toHaveBeenCalledTimes(requests);
    const page = await pages().client.audit.list();
    expect((await page.toArray({ limit })).map(({ id }) => id)).toEqual(ids);
  });

  it("has the HTTP response of its first page, with the page or alone", async () => {
    const { data, requestId, response } = await pages().client.audit.list().withResponse();
    expect([data.data.length, requestId, response.status]).toEqual([2, "r", 200]);
    expect(await (await pages().client.audit.list().asResponse()).json()).toMatchObject({ has_more: true });
    const { data: models } = await newClient({ fetch: answersInTurn(emptyList) })
      .models.list()
      .withResponse();
    expect(models.data).toEqual([]);
    expect(
      await caught(
        newClient({ fetch: answersInTurn(unreachable) })
          .models.list()
          .asResponse(),
      ),
    ).toBeInstanceOf(APIConnectionError);
  });
});
