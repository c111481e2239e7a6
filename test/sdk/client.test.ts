import { inspect } from "node:util";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, expectTypeOf, it, vi } from "vitest";
import Ostiary, {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  type ChatCompletion,
  ConflictError,
  ContentTooLargeError,
  InternalServerError,
  NotFoundError,
  OstiaryError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
  StreamInterruptedError,
  UnprocessableEntityError,
} from "../../sdk/src/index.ts";

const BASE = "http://service.example";
const KEY = "sk-0123456789012345678901234567890123456789012345678";
const server = setupServer();

beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
afterAll(() => server.close());

beforeEach(() => {
  vi.stubEnv("OSTIARY_API_KEY", undefined);
  vi.stubEnv("OSTIARY_BASE_URL", undefined);
});

afterEach(() => {
  server.resetHandlers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const client = (options: object = {}) =>
  new Ostiary({ apiKey: KEY, baseURL: BASE, maxRetries: 0, ...options });
const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const completion = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
};
const envelope = (code: string, param: string | null = null) => ({
  error: { message: `it is ${code}`, type: "t", param, code },
});

describe("the API key", () => {
  it("comes from OSTIARY_API_KEY, trimmed, and is sent exactly as a bearer token", async () => {
    vi.stubEnv("OSTIARY_API_KEY", ` ${KEY}\n`);
    let sent: string | null = null;
    server.use(
      http.get(`${BASE}/v1/models`, ({ request }) => {
        sent = request.headers.get("authorization");
        return HttpResponse.json({ object: "list", data: [] });
      }),
    );
    await new Ostiary({ baseURL: BASE }).models.list();
    expect(sent).toBe(`Bearer ${KEY}`);
  });

  it("causes an error that names the variable when it is missing", () => {
    vi.stubEnv("OPENAI_API_KEY", "sk-of-another-service");
    expect(() => new Ostiary()).toThrow(/OSTIARY_API_KEY/);
    expect(() => new Ostiary({ apiKey: "  " })).toThrow(OstiaryError);
  });

  it("of a service with another name comes from that name's variable", () => {
    expect(() => new Ostiary({ service: "Acme AI" })).toThrow(/ACME_AI_API_KEY/);
    vi.stubEnv("ACME_AI_API_KEY", KEY);
    vi.stubEnv("ACME_AI_BASE_URL", "https://acme.example/");
    expect(new Ostiary({ service: "Acme AI" }).baseURL).toBe("https://acme.example/v1");
  });

  it("is never printed, whatever prints the client or an error", async () => {
    server.use(
      http.get(`${BASE}/v1/models`, () => HttpResponse.json(envelope("invalid_api_key"), { status: 401 })),
    );
    const one = client();
    const error = await one.models.list().catch((thrown: unknown) => thrown);
    for (const thing of [one, error]) {
      expect(inspect(thing, { depth: 20, showHidden: true })).not.toContain(KEY);
      expect(JSON.stringify(thing)).not.toContain(KEY);
      expect(String(thing)).not.toContain(KEY);
    }
  });

  it("is refused in a web page unless explicitly allowed", () => {
    vi.stubGlobal("window", { document: {} });
    expect(() => client()).toThrow(/backend/);
    expect(() => client({ dangerouslyAllowBrowser: true })).not.toThrow();
  });
});

describe("the base URL", () => {
  it.each([BASE, `${BASE}/`, `${BASE}/v1`, `${BASE}/v1/`])("may be given as %s", (baseURL) => {
    expect(client({ baseURL }).baseURL).toBe(`${BASE}/v1`);
  });

  it.each(["service", `"${BASE}"`, "http://127.0.0.1:80800", "ftp://service.example"])(
    "is refused at once, and not quoted, when it is %s",
    (baseURL) => {
      vi.stubEnv("OSTIARY_BASE_URL", baseURL);
      const advice = "is malformed: it must begin with http:// or https://, without quotation marks, and";
      for (const [open, message] of [
        [() => client({ baseURL }), `The base URL ${advice}`],
        [() => client({ baseURL: undefined }), `The base URL in OSTIARY_BASE_URL ${advice}`],
      ] as const) {
        expect(open).toThrow(OstiaryError);
        expect(open).toThrow(message);
        expect(open).not.toThrow(baseURL);
      }
    },
  );

  it.each(["?", "?a=b", "#", "#a", "/v1?"])("is refused at once when it ends with %s", (end) => {
    expect(() => client({ baseURL: `${BASE}${end}` })).toThrow(OstiaryError);
  });
});

describe("an error answer", () => {
  const classes = [
    [400, BadRequestError, "invalid_request"],
    [401, AuthenticationError, "revoked_api_key"],
    [402, PaymentRequiredError, "credit_balance_exhausted"],
    [403, PermissionDeniedError, "account_suspended"],
    [404, NotFoundError, "model_not_found"],
    [409, ConflictError, "conflict"],
    [413, ContentTooLargeError, "request_too_large"],
    [422, UnprocessableEntityError, "idempotency_key_reused"],
    [429, RateLimitError, "rate_limit_exceeded"],
    [500, InternalServerError, "internal_error"],
    [503, InternalServerError, "server_is_overloaded"],
  ] as const;

  it.each(classes)("with status %i is a %o", async (status, Class, code) => {
    server.use(
      http.post(`${BASE}/v1/chat/completions`, () =>
        HttpResponse.json(envelope(code, "model"), { status, headers: { "x-request-id": "req_1" } }),
      ),
    );
    const error = await client()
      .chat.completions.create(ask)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Class);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({
      status,
      code,
      param: "model",
      requestId: "req_1",
      message: `it is ${code}`,
    });
  });

  it("has the reason why permission was denied", async () => {
    for (const code of ["account_suspended", "ip_blocked"] as const) {
      server.use(http.get(`${BASE}/v1/models`, () => HttpResponse.json(envelope(code), { status: 403 })));
      const error = await client()
        .models.list()
        .catch((thrown: unknown) => thrown);
      if (!(error instanceof PermissionDeniedError)) throw error;
      expect(error.reason).toBe(code);
    }
  });

  it("from something that is not the service still has its status", async () => {
    server.use(
      http.get(`${BASE}/v1/models`, () => HttpResponse.html("<h1>Bad gateway</h1>", { status: 502 })),
    );
    const error = await client()
      .models.list()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "InternalServerError", status: 502, code: null });
  });
});

describe("a stream", () => {
  const events = (...lines: string[]) =>
    http.post(
      `${BASE}/v1/chat/completions`,
      () => new HttpResponse(lines.join(""), { headers: { "content-type": "text/event-stream" } }),
    );
  const chunk = (content: string) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
  const collect = async () => {
    let text = "";
    for await (const { choices } of await client().chat.completions.create({ ...ask, stream: true })) {
      text += choices[0]?.delta.content ?? "";
    }
    return text;
  };

  it("is read with any line ends and comments, however it is divided", async () => {
    const bytes = new TextEncoder().encode(
      `: heartbeat\r\n\r\n${chunk("hö").replaceAll("\n", "\r\n")}${chunk("l€")}event: x\ndata: ${JSON.stringify({ choices: [{ delta: { content: "!" } }] })}\n\ndata: [DONE]\n\n`,
    );
    server.use(
      http.post(`${BASE}/v1/chat/completions`, () => {
        const body = new ReadableStream({
          start(controller) {
            for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
            controller.close();
          },
        });
        return new HttpResponse(body, { headers: { "content-type": "text/event-stream" } });
      }),
    );
    expect(await collect()).toBe("höl€!");
  });

  it("that ends before the answer does is an error, not a short answer", async () => {
    server.use(events(chunk("half an ans")));
    await expect(collect()).rejects.toBeInstanceOf(StreamInterruptedError);
  });

  it("that is cut inside an event is an error", async () => {
    server.use(events(chunk("a"), 'data: {"choices"'));
    await expect(collect()).rejects.toBeInstanceOf(StreamInterruptedError);
  });

  it("with an error inside throws the class that its code has over HTTP", async () => {
    server.use(events(chunk("a"), `data: ${JSON.stringify(envelope("server_is_overloaded"))}\n\n`));
    await expect(collect()).rejects.toBeInstanceOf(InternalServerError);
    server.use(events(`data: ${JSON.stringify(envelope("rate_limit_exceeded"))}\n\n`));
    await expect(collect()).rejects.toMatchObject({ name: "RateLimitError", status: 429 });
  });

  it("ends with the caller's signal", async () => {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(chunk("a"))),
    });
    server.use(http.post(`${BASE}/v1/chat/completions`, () => new HttpResponse(body)));
    const abort = new AbortController();
    const stream = await client().chat.completions.create({ ...ask, stream: true }, { signal: abort.signal });
    const read = async () => {
      for await (const _ of stream) abort.abort();
    };
    await expect(read()).rejects.toBeInstanceOf(APIUserAbortError);
  });
});

describe("a request that fails", () => {
  /** Answers with these one after the other, and counts. */
  const answersInTurn = (...answers: (() => Response)[]) => {
    let calls = 0;
    server.use(
      http.get(
        `${BASE}/v1/models`,
        () => answers[Math.min(calls++, answers.length - 1)]?.() ?? HttpResponse.error(),
      ),
    );
    return () => calls;
  };
  const list = () => HttpResponse.json({ object: "list", data: [] });
  const failing =
    (status: number, headers: Record<string, string> = { "retry-after-ms": "1" }) =>
    () =>
      HttpResponse.json(envelope("internal_error"), { status, headers });

  it.each([408, 409, 429, 500, 502, 503, 504])("with %i is retried", async (status) => {
    const calls = answersInTurn(failing(status), failing(status), list);
    await client({ maxRetries: 2 }).models.list();
    expect(calls()).toBe(3);
  });

  it.each([400, 401, 402, 403, 404, 413])("with %i is not retried", async (status) => {
    const calls = answersInTurn(failing(status), list);
    await expect(client({ maxRetries: 2 }).models.list()).rejects.toMatchObject({ status });
    expect(calls()).toBe(1);
  });

  it("is retried or not as the service advises", async () => {
    const refused = answersInTurn(failing(503, { "x-should-retry": "false" }), list);
    await expect(client({ maxRetries: 2 }).models.list()).rejects.toMatchObject({ status: 503 });
    expect(refused()).toBe(1);
    const advised = answersInTurn(failing(409, { "x-should-retry": "true", "retry-after-ms": "1" }), list);
    await client({ maxRetries: 2 }).models.list();
    expect(advised()).toBe(2);
  });

  it("is never retried for want of credit, whatever is advised", async () => {
    const calls = answersInTurn(failing(402, { "x-should-retry": "true", "retry-after-ms": "1" }), list);
    await expect(client({ maxRetries: 2 }).models.list()).rejects.toBeInstanceOf(PaymentRequiredError);
    expect(calls()).toBe(1);
  });

  it("is not retried when the service asks to wait for too long", async () => {
    const calls = answersInTurn(failing(429, { "retry-after": "3600" }), list);
    const error = await client({ maxRetries: 2 })
      .models.list()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "RateLimitError", retryAfterMs: 3_600_000 });
    expect(calls()).toBe(1);
  });

  it("to connect is an APIConnectionError", async () => {
    answersInTurn(() => HttpResponse.error());
    await expect(client().models.list()).rejects.toBeInstanceOf(APIConnectionError);
  });

  it("by a timeout is an APIConnectionTimeoutError", async () => {
    server.use(http.get(`${BASE}/v1/models`, () => new Promise<Response>(() => {})));
    await expect(client({ timeout: 20 }).models.list()).rejects.toBeInstanceOf(APIConnectionTimeoutError);
  });

  it("by the caller's signal is an APIUserAbortError, also while it waits for a retry", async () => {
    answersInTurn(failing(503, { "retry-after": "50" }));
    const signal = AbortSignal.timeout(20);
    await expect(client({ maxRetries: 2 }).models.list({ signal })).rejects.toBeInstanceOf(APIUserAbortError);
    await expect(client().models.list({ signal })).rejects.toBeInstanceOf(APIUserAbortError);
  });
});

describe("a list", () => {
  it("returns its first page when awaited, and all items of all pages when iterated", async () => {
    server.use(
      http.get(`${BASE}/v1/audit`, ({ request }) => {
        const query = new URL(request.url).searchParams;
        expect(query.get("limit")).toBe("2");
        const page = Number(query.get("cursor") ?? 0);
        const data = [{ id: `${page}a` }, { id: `${page}b` }];
        return HttpResponse.json({
          object: "list",
          data,
          has_more: page < 2,
          next_cursor: page < 2 ? String(page + 1) : null,
        });
      }),
    );
    const first = await client().audit.list({ limit: 2 });
    expect(first.data).toHaveLength(2);
    expect(first.hasMore).toBe(true);
    const ids: string[] = [];
    for await (const entry of client().audit.list({ limit: 2 })) ids.push(entry.id);
    expect(ids).toEqual(["0a", "0b", "1a", "1b", "2a", "2b"]);
  });
});

describe("a model's ID", () => {
  it("may hold slashes and spaces", async () => {
    let path = "";
    server.use(
      http.get(`${BASE}/v1/models/*`, ({ request }) => {
        path = new URL(request.url).pathname;
        return HttpResponse.json({ id: "a/b c" });
      }),
    );
    await client().models.retrieve("a/b c");
    expect(path).toBe("/v1/models/a/b%20c");
  });
});

describe("an answer", () => {
  it("has its request ID, outside of its own fields", async () => {
    server.use(
      http.post(`${BASE}/v1/chat/completions`, () =>
        HttpResponse.json(completion, { headers: { "x-request-id": "req_7" } }),
      ),
    );
    const answer = await client().chat.completions.create(ask);
    expectTypeOf(answer).toEqualTypeOf<ChatCompletion>();
    expect(answer._request_id).toBe("req_7");
    expect(Object.keys(answer)).not.toContain("_request_id");
  });
});
