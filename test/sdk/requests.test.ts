import type OpenAI from "openai";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import {
  type APIError,
  APIUserAbortError,
  type AuditEntry,
  type ChatCompletion,
  type ChatCompletionCreateParams,
  type ChatCompletionMessageParam,
  type ChatCompletionStream,
  type EmbeddingCreateParams,
  type ErrorCode,
  type default as Ostiary,
  OstiaryError,
  type Page,
  type PermissionDeniedError,
  type RateLimitError,
  VERSION,
} from "../../sdk/src/index.ts";
import {
  answersInTurn,
  caught,
  collect,
  emptyList,
  failing,
  newClient,
  unreachable,
} from "./fake-service.ts";

describe("a client option", () => {
  it.each([
    { timeout: 0 },
    { timeout: Number.NaN },
    { streamIdleTimeout: 0 },
    { maxRetries: -1 },
    { maxRetries: Number.NaN },
    { baseURL: "localhost:8080" },
    { baseURL: "ftp://service.example" },
    { baseURL: "https://service.example/#v1" },
  ])("that is invalid causes an error at once: %o", (options) => {
    expect(() => newClient(options)).toThrow(OstiaryError);
  });

  it.each([{ timeout: 0 }, { timeout: Number.NaN }, { streamIdleTimeout: -1 }, { maxRetries: Number.NaN }])(
    "of a request that is invalid causes an error, and nothing is sent: %o",
    async (options) => {
      const fetch = answersInTurn(emptyList);
      expect(await caught(newClient({ fetch }).models.list(options))).toBeInstanceOf(OstiaryError);
      expect(fetch).not.toHaveBeenCalled();
    },
  );

  it("may be undefined, like the variable that it is read from", () => {
    expect(() => newClient({ baseURL: undefined, timeout: undefined, service: undefined })).not.toThrow();
  });

  it("may make the timeout infinite", async () => {
    await expect(
      newClient({ timeout: Number.POSITIVE_INFINITY, fetch: answersInTurn(emptyList) }).models.list(),
    ).resolves.toBeDefined();
  });

  it("may be a runtime's own fetch, which must not be called as a method", async () => {
    const strict = function (this: unknown) {
      if (this !== undefined) throw new TypeError("Illegal invocation");
      return Promise.resolve(emptyList());
    };
    await expect(newClient({ fetch: strict }).models.list()).resolves.toBeDefined();
  });
});

describe("headers of the SDK", () => {
  it("are overridden by the client's, and those by the request's", async () => {
    const fetch = answersInTurn(emptyList);
    await newClient({
      fetch,
      defaultHeaders: { "x-a": "client", "X-B": "client", accept: "*/*" },
    }).models.list({
      headers: { "x-b": "request" },
    });
    const headers = new Headers(fetch.mock.calls[0]?.[1]?.headers);
    expect(Object.fromEntries(headers)).toEqual({
      accept: "*/*",
      authorization: "Bearer sk-test",
      "user-agent": `ostiary-node/${VERSION}`,
      "x-a": "client",
      "x-b": "request",
    });
  });
});

describe("a request body", () => {
  it("that can't be serialized is an invalid option with the runtime's error as its cause, and is not sent", async () => {
    const fetch = answersInTurn(emptyList);
    const body = { model: "m", messages: [], extra_body: { seed_of_ours: 1n } };
    const error = await caught(newClient({ fetch, maxRetries: 2 }).chat.completions.create(body));
    expect(error).toMatchObject({ name: "OstiaryError", cause: expect.any(TypeError) });
    expect(fetch).not.toHaveBeenCalled();
  });

  it("has the fields of extra_body, which replace typed ones of the same name", async () => {
    const fetch = answersInTurn(() => Response.json({ choices: [], data: [] }));
    const { chat, embeddings } = newClient({ fetch });
    await chat.completions.create({
      model: "m",
      messages: [],
      temperature: 1,
      extra_body: { top_k: 40, temperature: 0 },
    });
    await embeddings.create({ model: "m", input: "x", extra_body: { truncate: true } });
    expect(fetch.mock.calls.map(([, init]) => JSON.parse(String(init?.body)))).toEqual([
      { model: "m", messages: [], temperature: 0, top_k: 40 },
      { model: "m", input: "x", truncate: true },
    ]);
  });

  it("that is missing throws an error that says what to pass", () => {
    const { chat, embeddings } = newClient();
    // @ts-expect-error JavaScript does not prevent it
    expect(() => chat.completions.create()).toThrow(/without parameters.*model.*messages/);
    // @ts-expect-error JavaScript does not prevent it
    expect(() => chat.completions.stream()).toThrow(OstiaryError);
    // @ts-expect-error JavaScript does not prevent it
    expect(() => embeddings.create(null)).toThrow(/without parameters.*input/);
  });
});

describe("the caller's signal", () => {
  it("sends nothing when it is already aborted", async () => {
    const fetch = answersInTurn(emptyList);
    const error = await caught(newClient({ fetch }).models.list({ signal: AbortSignal.abort() }));
    expect(error).toBeInstanceOf(APIUserAbortError);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("keeps no listener when a request is over, as it may outlive many requests", async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    const stream = () => new Response("data: [DONE]\n\n");
    const fetch = answersInTurn(emptyList, failing(400), unreachable, stream);
    const client = newClient({ fetch });
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

describe("the SDK's types", () => {
  it("refuse misspelt parameters", () => {
    const { chat, embeddings } = newClient();
    const misspelt = () => [
      // @ts-expect-error no such parameter
      chat.completions.create({ model: "m", messages: [], temprature: 2 }),
      // @ts-expect-error no such parameter
      chat.completions.create({ model: "m", messages: [], stream: true, temprature: 2 }),
      // @ts-expect-error no such parameter
      chat.completions.stream({ model: "m", messages: [], temprature: 2 }),
      // @ts-expect-error no such parameter
      embeddings.create({ model: "m", input: "x", dimension: 2 }),
      // @ts-expect-error a number
      chat.completions.create({ model: "m", messages: [], temperature: "2" }),
    ];
    expectTypeOf(misspelt).toBeFunction();
  });

  it("take parameters that are undefined, like the variables that they are read from", () => {
    type Optional<Params> = {
      [Name in keyof Params]-?: object extends Pick<Params, Name> ? Name : never;
    }[keyof Params];
    type Unset<Params> = Record<Optional<Params>, undefined>;
    expectTypeOf<Unset<ChatCompletionCreateParams>>().toExtend<Partial<ChatCompletionCreateParams>>();
    expectTypeOf<Unset<EmbeddingCreateParams>>().toExtend<Partial<EmbeddingCreateParams>>();
    expectTypeOf<{ role: "user"; content: "x"; name: undefined }>().toExtend<ChatCompletionMessageParam>();
  });

  it("know every parameter that OpenAI documents and the service passes on", () => {
    type Theirs = keyof OpenAI.ChatCompletionCreateParams;
    // Superseded by `tools`, or bound to OpenAI's own storage and moderation.
    type Superseded = "functions" | "function_call" | "moderation" | "prompt_cache_options";
    expectTypeOf<Exclude<Theirs, keyof ChatCompletionCreateParams | Superseded>>().toEqualTypeOf<never>();
  });

  it("distinguish a stream from a completion", () => {
    const { create } = newClient().chat.completions;
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
