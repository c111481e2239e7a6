import { inspect } from "node:util";
import { createTRPCClient, TRPCClientError } from "@trpc/client";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { Procedure, Procedures } from "../../sdk/src/contract/procedures.ts";
import { APIError, AuthenticationError, PermissionDeniedError } from "../../sdk/src/index.ts";
import { OstiaryOperator } from "../../sdk/src/operator.ts";
import { type AppRouter, ostiaryLink } from "../../sdk/src/trpc.ts";
import { answersInTurn, caught, collect, newClient } from "./fake-service.ts";

const PAGE = "<!doctype html>\n<title>Sign in, please</title>\n";
const HTML = { "content-type": "text/html; charset=utf-8" };
const page = (status: number) => () => new Response(PAGE, { status, headers: HTML });
const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };

type Answer = () => Response;
const client = (answer: Answer) => newClient({ managementToken: "mt-test", fetch: answersInTurn(answer) });
const trpc = (answer: Answer) =>
  createTRPCClient<AppRouter>({
    links: [ostiaryLink({ managementToken: "mt-test", maxRetries: 0, fetch: answersInTurn(answer) })],
  });
/** The client's own error, which tRPC's error has as its cause. */
const causeOf = async (call: Promise<unknown>) => {
  const error = await caught(call);
  expect(error).toBeInstanceOf(TRPCClientError);
  return (error as Error).cause;
};
const subscribed = (answer: Answer) =>
  new Promise((resolve, reject) => {
    trpc(answer).audit.tail.subscribe({}, { onError: resolve, onComplete: () => reject(new Error("ended")) });
  }).then((error) => (error as Error).cause);

/** Every way to ask the service, and the error that it ends with. */
const surfaces: Record<string, (answer: Answer) => Promise<unknown>> = {
  "a list": (answer) => caught(client(answer).models.list()),
  "a completion": (answer) => caught(client(answer).chat.completions.create(ask)),
  "a stream": (answer) => caught(collect(client(answer).chat.completions.create({ ...ask, stream: true }))),
  "a stream with events": (answer) => caught(client(answer).chat.completions.stream(ask).done()),
  "a run with tools": (answer) =>
    caught(
      client(answer)
        .chat.completions.runTools({ ...ask, tools: [] })
        .done(),
    ),
  "an export": (answer) => caught(collect(client(answer).audit.export())),
  "an export as CSV": (answer) => caught(collect(client(answer).audit.export({ format: "csv" }))),
  "an export with its proof": (answer) => caught(collect(client(answer).audit.export({ proof: true }))),
  "a tail": (answer) => caught(collect(client(answer).audit.tail())),
  "a procedure": (answer) => caught(client(answer).keys.list()),
  "an operator's procedure": (answer) =>
    caught(
      new OstiaryOperator({
        managementToken: "mt",
        maxRetries: 0,
        fetch: answersInTurn(answer),
      }).accounts.list(),
    ),
  "a query of tRPC's client": (answer) => causeOf(trpc(answer).account.get.query()),
  "a change by tRPC's client": (answer) => causeOf(trpc(answer).keys.create.mutate({ name: "a" })),
  "a subscription of tRPC's client": subscribed,
};

describe.each(Object.entries(surfaces))("a proxy's answer to %s", (_, ask) => {
  it("has the class of its status, whatever its body", async () => {
    const bodies = [PAGE, "", "null", "[]", "5", '{"message":"Forbidden"}'];
    for (const body of bodies) {
      const refused = await ask(() => new Response(body, { status: 401 }));
      expect(refused, body).toBeInstanceOf(AuthenticationError);
      const denied = await ask(() => new Response(body, { status: 403, headers: HTML }));
      expect(denied, body).toBeInstanceOf(PermissionDeniedError);
      expect(denied).toMatchObject({ status: 403, reason: null });
    }
  });

  it("is an APIError if it is a page with a success", async () => {
    const error = await ask(page(200));
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 200, message: expect.stringMatching(/not from the service/) });
  });

  it("is an APIError if it is a success without a body, or a redirect", async () => {
    expect(await ask(() => new Response(null, { status: 204 }))).toMatchObject({
      name: "APIError",
      status: 204,
    });
    const elsewhere = { status: 302, headers: { location: "https://sign-in.example" } };
    expect(await ask(() => new Response(null, elsewhere))).toMatchObject({
      name: "APIError",
      status: 302,
      message: expect.stringContaining("a redirect to https://sign-in.example, which"),
    });
  });
});

describe("the error of a redirect", () => {
  it.each([
    ["https://example.org/v1/models?token=secret#secret", "redirect to https://example.org/v1/models,"],
    ["https://user:secret@example.org/", "redirect to https://example.org/,"],
    ["//secret@example.org/a@b", "redirect to //example.org/a@b,"],
    ["/sign-in?next=secret", "redirect to /sign-in,"],
    [undefined, "redirect, which"],
  ])("tells where it leads, without what may be secret: %s", async (location, told) => {
    const headers = location === undefined ? {} : { location };
    const error = await caught(client(() => new Response(null, { status: 301, headers })).models.list());
    expect(error).toMatchObject({ status: 301, message: expect.stringContaining(told) });
    expect(`${inspect(error)} ${JSON.stringify(error)}`).not.toContain("secret");
  });
});

describe("an export", () => {
  const cursor = "5~019b0000-0000-7000-8000-000000000000~1-1";

  it.each([
    ["ndjson", '{"status":"ok"}\n'],
    ["csv", "status,time\nok,5\n"],
  ] as const)("whose lines are not those of %s is not from the service", async (format, text) => {
    const lines = client(() => new Response(text)).audit.export({ format });
    expect(await caught(collect(lines))).toMatchObject({ name: "APIError", status: 200 });
    expect(lines.progress.lines).toBe(0);
  });

  it("that is interrupted by a page keeps what it has, to be resumed", async () => {
    const broken = new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode(`{"id":"1","cursor":"${cursor}"}\n`)),
      pull: (controller) => controller.error(new TypeError("terminated")),
    });
    const fetch = answersInTurn(() => new Response(broken), page(200));
    const lines = newClient({ fetch }).audit.export();
    const read: string[] = [];
    const reading = async () => {
      for await (const line of lines) read.push(line);
    };
    expect(await caught(reading())).toBeInstanceOf(APIError);
    expect([read.length, lines.progress.cursor]).toEqual([1, cursor]);
  });
});

describe("a procedure's error whose code is newer than this package", () => {
  const details = { code: "too_many_moons", type: "t", param: null, requestId: "req_1" };
  const json = {
    message: "m",
    code: -32_003,
    data: { code: "FORBIDDEN", httpStatus: 403, ostiary: details },
  };

  it("has the class of its status in tRPC's client, also among other calls", async () => {
    const one = trpc(() => Response.json([{ error: { json } }], { status: 403 }));
    expect(await causeOf(one.account.get.query())).toBeInstanceOf(PermissionDeniedError);
    const several = trpc(() => Response.json([{ error: { json } }, { error: { json } }], { status: 207 }));
    const causes = await Promise.all([several.account.get.query(), several.keys.list.query()].map(causeOf));
    for (const cause of causes) {
      expect(cause).toBeInstanceOf(PermissionDeniedError);
      expect(cause).toMatchObject({ code: "too_many_moons", message: "m" });
    }
  });

  it("ends a subscription", async () => {
    const events = `event: connected\ndata: {}\n\nevent: serialized-error\ndata: ${JSON.stringify({ json })}\n\n`;
    const ended = await caught(collect(client(() => new Response(events)).audit.tail()));
    expect(ended).toBeInstanceOf(PermissionDeniedError);
  });
});

describe("a batch of calls", () => {
  it.each([
    "[]",
    "[null]",
    "[{}]",
    '[{"result":null}]',
    '[{"result":{"data":{}}},{"result":{"data":{}}}]',
    "{}",
  ])("that is answered by %s is not answered by the service", async (body) => {
    const cause = await causeOf(trpc(() => new Response(body)).account.get.query());
    expect(cause).toMatchObject({ name: "APIError", message: expect.stringMatching(/not from the service/) });
  });
});

describe("a procedure's answer whose data is not what the procedure returns", () => {
  const tokenClient = (answer: Answer) =>
    newClient({ managementToken: "mt-test", fetch: answersInTurn(answer) });
  const operator = (answer: Answer) =>
    new OstiaryOperator({ managementToken: "mt-test", maxRetries: 0, fetch: answersInTurn(answer) });
  /** Every method that reads a part of its procedure's data. */
  const readers: Record<string, (answer: Answer) => Promise<unknown>> = {
    "keys.list": (answer) => tokenClient(answer).keys.list(),
    "keys.addresses": (answer) => tokenClient(answer).keys.addresses("id"),
    "account.actions": async (answer) => tokenClient(answer).account.actions(),
    "account.actions, iterated over": (answer) => collect(tokenClient(answer).account.actions()),
    "account.exportActions": (answer) => collect(tokenClient(answer).account.exportActions()),
    "credits.ledger": async (answer) => tokenClient(answer).credits.ledger(),
    "credits.statement": (answer) => tokenClient(answer).credits.statement().toArray({ limit: 5 }),
    "operator.exportActions": (answer) => collect(operator(answer).exportActions()),
  };
  /** Every kind of call whose data the caller gets as it is. */
  const passed: Record<string, (answer: Answer) => Promise<unknown>> = {
    "keys.create": (answer) => tokenClient(answer).keys.create({ name: "a" }),
    "usage.summary": (answer) =>
      tokenClient(answer).usage.summary({ from: "2026-01-01", to: "2026-02-01", interval: "day" }),
    "audit.verify": (answer) => tokenClient(answer).audit.verify(),
    "trpc.account.limits": (answer) => tokenClient(answer).trpc.account.limits.query(),
    "operator.catalog": (answer) => operator(answer).catalog(),
  };

  it.each(Object.entries(passed))("is not from the service if it is no object: %s", async (_, read) => {
    for (const data of [
      ...[null, 5, "text", []].map((json) => ({ json })),
      { json: null, meta: { values: ["undefined"] } },
    ]) {
      const error = await caught(read(() => Response.json({ result: { data } })));
      expect(error, JSON.stringify(data)).toMatchObject({ name: "APIError", status: 200 });
    }
  });

  it("may be nothing only of procedures of a person's session", async () => {
    type WithoutObject<Table> = {
      [Name in keyof Table & string]: Table[Name] extends Procedure
        ? Table[Name]["output"] extends Readonly<Record<string, unknown>>
          ? never
          : Name
        : WithoutObject<Table[Name]>;
    }[keyof Table & string];
    expectTypeOf<WithoutObject<Omit<Procedures, "auth">>>().toBeNever();
    const client = tokenClient(() => Response.json({ result: { data: { json: null } } }));
    expect(await client.trpc.auth.me.query()).toBeNull();
  });

  const wrong = [null, 5, "text", [], {}, { keys: null, actions: {}, addresses: 1, entries: "", lines: "l" }];

  it.each(Object.entries(readers))("is not from the service: %s", async (_, read) => {
    for (const json of wrong) {
      const headers = { "x-request-id": "req_1" };
      const error = await caught(read(() => Response.json({ result: { data: { json } } }, { headers })));
      expect(error, JSON.stringify(json)).toBeInstanceOf(APIError);
      expect(error).toMatchObject({
        name: "APIError",
        status: 200,
        requestId: "req_1",
        message: expect.stringMatching(/not from the service/),
      });
    }
  });

  it("is not from the service as an event of a tail", async () => {
    for (const json of [...wrong, { entries: null }]) {
      const event = `event: connected\ndata: {}\n\nid: 1\ndata: ${JSON.stringify({ json })}\n\n`;
      const error = await caught(collect(tokenClient(() => new Response(event)).audit.tail()));
      expect(error, JSON.stringify(json)).toMatchObject({ name: "APIError" });
    }
  });
});

it("has its request id on each page of a procedure's list", async () => {
  const page = () =>
    Response.json(
      { result: { data: { json: { entries: [], nextCursor: null } } } },
      { headers: { "x-request-id": "req_9" } },
    );
  expect((await newClient({ fetch: answersInTurn(page) }).credits.ledger()).requestId).toBe("req_9");
});
