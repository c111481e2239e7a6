import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  APIConnectionError,
  APIError,
  APIUserAbortError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from "../../sdk/src/index.ts";
import { answersInTurn, caught, collect, failing, newClient } from "./fake-service.ts";
import { loopback } from "./loopback.ts";

describe("an answer that does not come from the service", () => {
  it("is an APIError with its status and headers, even with a success status", async () => {
    const fetch = answersInTurn(
      () =>
        new Response("<h1>Sign in</h1>", {
          headers: { "content-type": "text/html", "x-request-id": "req_9" },
        }),
    );
    const error = await caught(newClient({ fetch, maxRetries: 2 }).models.list());
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 200, code: null, requestId: "req_9" });
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it("that breaks off is an APIConnectionError, and is not retried: the work was done", async () => {
    let requests = 0;
    await using server = await loopback((_, response) => {
      requests++;
      response.writeHead(200, { "content-length": "1000" });
      response.write("{", () => response.destroy());
    });
    const error = await caught(newClient({ baseURL: server.url, maxRetries: 2 }).models.list());
    expect(error).toBeInstanceOf(APIConnectionError);
    expect(requests).toBe(1);
  });

  it.each([
    [2, 3, "the answer"],
    [9, 3, "an APIConnectionError"],
  ])(
    "of a request with an idempotency key that breaks off %i times has %i attempts, and is %s",
    async (breaks, attempts, end) => {
      let requests = 0;
      await using server = await loopback((_, response) => {
        requests++;
        if (requests > breaks) return response.end("{}");
        response.writeHead(200, { "content-length": "1000" });
        return response.write("{", () => response.destroy());
      });
      const client = newClient({ baseURL: server.url, maxRetries: 2 });
      const asked = client.chat.completions.create({ model: "m", messages: [] });
      if (end === "the answer") await expect(asked).resolves.toEqual({});
      else await expect(asked).rejects.toBeInstanceOf(APIConnectionError);
      expect(requests).toBe(attempts);
    },
  );

  it.each([undefined, null, {}, { ok: true, status: 200 }])(
    "is an APIConnectionError if the `fetch` that was given returns %j",
    async (returned) => {
      const fetch = async () => returned as unknown as Response;
      expect(await caught(newClient({ fetch }).models.list())).toMatchObject({
        name: "APIConnectionError",
        cause: expect.any(TypeError),
      });
    },
  );

  it("is one of the service that was cut off, if its headers say so and it ends within its JSON", async () => {
    let requests = 0;
    await using server = await loopback(({ socket }) => {
      requests++;
      const head = "HTTP/1.0 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_1\r\n\r\n";
      socket.end(requests === 2 ? `${head}{}` : `${head}{"data":[`);
    });
    const client = newClient({ baseURL: server.url, maxRetries: 2 });
    await expect(client.models.list()).rejects.toMatchObject({
      name: "APIConnectionError",
      message: expect.stringContaining("interrupted"),
    });
    expect(requests).toBe(1);
    // With an idempotency key, the service has kept its answer.
    await expect(client.chat.completions.create({ model: "m", messages: [] })).resolves.toEqual({});
    expect(requests).toBe(2);
    await expect(client.chat.completions.create({ model: "m", messages: [] })).rejects.toBeInstanceOf(
      APIConnectionError,
    );
    expect(requests).toBe(5);
  });

  it("ends with the caller's signal while its body arrives", async () => {
    const abort = new AbortController();
    await using server = await loopback((_, response) => {
      response.write("{", () => abort.abort());
    });
    const error = await caught(newClient({ baseURL: server.url }).models.list({ signal: abort.signal }));
    expect(error).toBeInstanceOf(APIUserAbortError);
  });
});

describe("a success in JSON of another shape", () => {
  const answering = (body: unknown) => newClient({ fetch: answersInTurn(() => Response.json(body)) });
  const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
  const isNotFromService = (error: unknown) => {
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 200, message: expect.stringMatching(/not from the service/) });
  };

  it.each([{}, [], { data: null }, { data: {} }, { data: "abc" }])("is no list: %j", async (body) => {
    isNotFromService(await caught(answering(body).models.list()));
    isNotFromService(await caught(answering(body).models.list().toArray({ limit: 1 })));
    isNotFromService(await caught(answering(body).audit.list()));
  });

  it("is no list if there is more of it, but no cursor", async () => {
    for (const cursor of [{}, { next_cursor: null }]) {
      const list = answering({ data: [], has_more: true, ...cursor }).audit.list();
      isNotFromService(await caught(list.toArray({ limit: 1 })));
    }
  });

  const wrong = [
    {},
    { choices: null },
    { choices: {} },
    { choices: [null] },
    { choices: [{}] },
    { choices: [{ message: "hi" }] },
  ];

  it.each(wrong)("is not parsed: %j", async (body) => {
    isNotFromService(await caught(answering(body).chat.completions.parse(ask, { schema: z.object({}) })));
  });

  it.each(wrong)("ends a run with tools by a typed error: %j", async (body) => {
    const run = answering(body).chat.completions.runTools({ ...ask, tools: [] });
    expect(await caught(run.done())).toMatchObject({
      name: "OstiaryError",
      message: expect.stringMatching(/no choice/),
    });
  });

  it("ends the list of keys, and an export of actions, whose cursor is missing", async () => {
    const fetch = answersInTurn(() => Response.json({ result: { data: { json: { keys: [], lines: [] } } } }));
    const client = newClient({ fetch, managementToken: "mt-test" });
    expect(await client.keys.list()).toEqual([]);
    expect(await collect(client.account.exportActions())).toEqual([]);
    expect(fetch).toHaveBeenCalledTimes(2);
  });
});

describe("an error answer", () => {
  it("keeps a code that is newer than this package", async () => {
    const body = { error: { message: "m", type: "t", param: null, code: "too_many_moons" } };
    const error = await caught(
      newClient({ fetch: answersInTurn(() => Response.json(body, { status: 403 })) }).models.list(),
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
  ])("has the time to wait: %s: %s", async (name, value, retryAfterMs) => {
    const error = await caught(
      newClient({ fetch: answersInTurn(failing(429, { [name]: value })) }).models.list(),
    );
    if (!(error instanceof RateLimitError)) throw error;
    expect(error.retryAfterMs).toBe(retryAfterMs);
  });

  it.each([
    ["nothing", ""],
    ["text", "no"],
    ["null", "null"],
    ["a list", "[]"],
    ["an error of another shape", '{"error":"no"}'],
  ])("with a body of %s has the class of its status", async (_, body) => {
    const error = await caught(
      newClient({ fetch: answersInTurn(() => new Response(body, { status: 404 })) }).models.list(),
    );
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ code: null, type: null, param: null, requestId: null });
    expect(error).toMatchObject({ message: expect.stringMatching(/status 404 .* Check the base URL/) });
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
    return { urls, client: newClient({ fetch, baseURL: "http://service.example" }) };
  };

  it("leads to the next, and has its own request ID", async () => {
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

  it("that reports no more items is the last, even when it has a cursor", async () => {
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

  it("is not requested before it is needed", async () => {
    const { client, urls } = audit([{ ids: ["a", "b"], has_more: true, next_cursor: "1" }]);
    for await (const { id } of client.audit.list()) if (id === "b") break;
    expect(urls).toHaveLength(1);
  });

  it("that fails ends the iteration with the error", async () => {
    const fetch = answersInTurn(
      () => Response.json({ object: "list", data: [{ id: "a" }], has_more: true, next_cursor: "1" }),
      failing(401),
    );
    const ids: string[] = [];
    const read = async () => {
      for await (const { id } of newClient({ fetch }).audit.list()) ids.push(id);
    };
    await expect(read()).rejects.toMatchObject({ status: 401 });
    expect(ids).toEqual(["a"]);
  });
});
