import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AuditExportParams,
  type ClientOptions,
  Ostiary,
  OstiaryError,
  tool,
  verifyActionsExport,
  verifyAuditExport,
} from "../../sdk/src/index.ts";
import { OstiaryOperator } from "../../sdk/src/operator.ts";
import { ostiaryLink } from "../../sdk/src/trpc.ts";
import { answersInTurn, collect, emptyList, newClient, unreachable } from "./fake-service.ts";

const client = newClient({ fetch: answersInTurn(emptyList) });
const operator = new OstiaryOperator({ managementToken: "mt-test", fetch: answersInTurn(emptyList) });
const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const noDate = new Date(Number.NaN);
const circular: Record<string, unknown> = {};
circular.own = circular;
/** A value that TypeScript would refuse. */
const wrong = <Type = never>(value: unknown) => value as Type;
const { completions } = client.chat;
const noConverted = z.object({ at: z.bigint() });

const calls: Record<string, [() => unknown, RegExp]> = {
  "null as the options of a client": [() => new Ostiary(wrong(null)), /Invalid option/],
  "null as the options of an operator's client": [() => new OstiaryOperator(wrong(null)), /Invalid option/],
  "null as the options of a link": [() => ostiaryLink(wrong(null)), /Invalid option/],
  "null as the options of a request": [() => client.models.list(wrong(null)), /options must be an object/],
  "null as the options of a get": [() => client.get("/models", wrong(null)), /options must be/],
  "null as the options of a post": [() => client.post("/embeddings", wrong(null)), /options must be/],
  "null as the options of a stream": [() => completions.stream(ask, wrong(null)), /options must be/],
  "null as the options of runTools": [
    () => completions.runTools({ ...ask, tools: [] }, wrong(null)),
    /options must be/,
  ],
  "null as the parameters of an export": [() => client.audit.export(wrong(null)), /params must be/],
  "null as the options of an export": [() => client.audit.export({}, wrong(null)), /options must be/],
  "null as the options of a tail": [() => collect(client.audit.tail({}, wrong(null))), /options must be/],
  "null as the parameters of the ledger": [() => client.credits.ledger(wrong(null)), /params must be/],
  "null as the parameters of a trail": [
    () => collect(client.account.exportActions(wrong(null))),
    /params must be/,
  ],
  "null as the parameters of an operator's trail": [
    () => collect(operator.exportActions(wrong(null))),
    /params must be/,
  ],
  "null as the parameters of a grant": [
    () => operator.accounts.grantCredits("id", wrong(null)),
    /params must be/,
  ],
  "null as the options of a verification": [() => verifyAuditExport([], wrong(null)), /options must be/],
  "null as the options of a trail's verification": [
    () => verifyActionsExport([], wrong(null)),
    /options must be/,
  ],
  "nothing to verify": [() => verifyAuditExport(wrong(undefined)), /lines must be/],
  "a whole text to verify": [() => verifyAuditExport("{}\n"), /lines must be an object/],
  "lines that are not iterable": [() => verifyAuditExport(wrong({})), /iterator of lines must be/],
  "no actions to verify": [() => verifyActionsExport(wrong(null)), /lines must be/],
  "a service's name that is no text": [() => newClient({ service: wrong(5) }), /trim/],
  "a fetch that is no function": [() => newClient({ fetch: wrong({}) }), /fetch must be a function/],
  "a timeout of a client that is a text": [() => newClient({ timeout: wrong("500") }), /timeout must be/],
  "a timeout of a request that is a text": [
    () => client.models.list({ timeout: wrong("500") }),
    /timeout must be a number/,
  ],
  "a maximum of retries that is a text": [() => newClient({ maxRetries: wrong("2") }), /maxRetries must be/],
  "an event that there is not": [() => client.on(wrong("answer"), () => {}), /Invalid option/],
  "a listener that is no function": [() => client.on("request", wrong(null)), /must be a function/],
  "a signal that is none": [
    () => client.models.list({ signal: wrong({}) }),
    /signal.addEventListener must be a function/,
  ],
  "an empty id of a model": [() => client.models.retrieve(""), /id must not be empty/],
  "no id of a model": [() => client.models.retrieve(wrong(undefined)), /id must not be empty/],
  "toArray without options": [() => client.audit.list().toArray(wrong(undefined)), /limit/],
  "toArray without a limit": [() => client.models.list().toArray(wrong({})), /limit/],
  "toArray of a page with a limit that is no number": [
    async () => (await client.audit.list()).toArray({ limit: Number.NaN }),
    /limit/,
  ],
  "a negative limit": [() => client.models.list().toArray({ limit: -1 }), /limit/],
  "an invalid date of a list": [() => client.audit.list({ from: noDate }), /from is not a valid date/],
  "an invalid date of an export": [
    () => collect(client.audit.export({ to: noDate } satisfies AuditExportParams)),
    /to is not a valid date/,
  ],
  "an invalid date of a procedure": [
    () => client.usage.summary({ from: noDate, to: new Date(), interval: "day" }),
    /from is not a valid date/,
  ],
  "an invalid date of the query": [() => client.models.list({ query: { x: noDate } }), /x is not a valid/],
  "resumptions that are no number": [
    () => collect(client.audit.export({}, { maxResumptions: Number.NaN })),
    /maxResumptions/,
  ],
  "parse without a format": [() => completions.parse(ask, wrong(undefined)), /schema/],
  "parse without a schema": [() => completions.parse(ask, wrong({})), /schema/],
  "parse with only a JSON schema": [() => completions.parse(ask, wrong({ jsonSchema: {} })), /schema/],
  "a schema that its library cannot convert": [
    () => completions.parse(ask, { schema: noConverted }),
    /BigInt/,
  ],
  "a tool without a schema": [() => tool(wrong({ name: "a" })), /schema/],
  "runTools without tools": [() => completions.runTools(wrong(ask)), /Invalid option/],
  "a tool that `tool` has not made": [
    () => completions.runTools({ ...ask, tools: wrong([{ type: "function" }]) }),
    /Invalid option/,
  ],
  "a body that JSON cannot express": [() => completions.create({ ...ask, extra_body: circular }), /circular/],
  "an input that JSON cannot express": [() => client.trpc.usage.summary.query(wrong(circular)), /Invalid/],
  "an address that is no string": [() => newClient({ baseURL: wrong(new URL("http://x")) }), /trim/],
  "an expected point that is a text": [() => verifyAuditExport([], { expected: wrong("1:aa") }), /expected/],
  "an expected point without a digest": [
    () => verifyAuditExport([], { expected: [wrong({ batch: 1 })] }),
    /expected/,
  ],
  "an expected action that is a text": [
    () => verifyActionsExport([], { expected: wrong("1:aa") }),
    /expected/,
  ],
  "an expected batch whose number is a text": [
    () => verifyAuditExport([], { expected: [wrong({ batch: "1", digest: "aa" })] }),
    /expected/,
  ],
  "a number of removed batches that is a text": [
    () => verifyAuditExport([], { removedBatches: wrong("5") }),
    /removedBatches must be a number/,
  ],
  "a maximum of rounds that is a text": [
    () => completions.runTools({ ...ask, tools: [] }, { maxRounds: wrong("5") }).done(),
    /maxRounds must be a number/,
  ],
  "a tool without a function": [
    () => tool(wrong({ name: "a", schema: z.object({}) })),
    /run must be a function/,
  ],
  "a listener of a stream that is no function": [
    () =>
      completions
        .stream(ask)
        .on("error", () => {})
        .on("chunk", wrong(null)),
    /listener must be a function/,
  ],
  "progress that is no function": [
    () => client.audit.export({}, { onProgress: wrong("log") }),
    /onProgress must be a function/,
  ],
  "a logger without functions": [() => newClient({ logger: wrong({}) }), /logger.debug must be a function/],
  "an application without a name": [
    () => newClient({ appInfo: wrong("my-app") }),
    /appInfo must have a name/,
  ],
  "default headers that are a text": [
    () => newClient({ defaultHeaders: wrong("x-a: 1") }),
    /headers must be an object/,
  ],
  "default headers with a pair that is null": [
    () => newClient({ defaultHeaders: wrong([null]) }),
    /Invalid option/,
  ],
  "headers with a pair that is null": [
    () => client.models.list({ headers: wrong([null]) }),
    /Invalid option/,
  ],
  "a form as the body of a post": [
    () => client.post("/files", { body: new FormData() }),
    /body must be a value of JSON/,
  ],
  "a file as the body of a post": [() => client.post("/files", { body: new Blob(["a"]) }), /body must be/],
  "bytes as the body of a post": [() => client.post("/files", { body: new Uint8Array(2) }), /body must be/],
  "a Map as the body of a post": [() => client.post("/files", { body: new Map() }), /body must be/],
  "a function as the body of a post": [() => client.post("/files", { body: () => {} }), /body must be/],
  "headers that are a text": [() => client.models.list({ headers: wrong("x-a: 1") }), /header/],
  "a query that is a text": [() => client.models.list({ query: wrong("a=1") }), /query must be an object/],
  "an extra body that is a text": [
    () => completions.create({ ...ask, extra_body: wrong("text") }),
    /extra_body must be an object/,
  ],
  "an amount that is no whole number": [
    () => operator.accounts.grantCredits("id", { amountNanoUsd: "1.5", reason: "r" }),
    /amountNanoUsd must be a whole number/,
  ],
  "a node's id that is no number": [() => operator.nodes.release("first", { reason: "r" }), /id must be/],
};

describe("a call that is not valid", () => {
  it.each(Object.entries(calls))("throws OstiaryError itself: %s", async (_, [call, message]) => {
    const error = await Promise.resolve()
      .then(call)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OstiaryError);
    expect(error).toMatchObject({ name: "OstiaryError", message: expect.stringMatching(message) });
  });
});

describe("options in a form that TypeScript would refuse", () => {
  it("may be collections of headers and parameters, which have no fields", async () => {
    const fetch = answersInTurn(emptyList);
    const defaultHeaders = wrong<Record<string, string>>(new Headers({ "X-Default": "1" }));
    await newClient({ fetch, defaultHeaders }).audit.list(
      { limit: 5 },
      {
        headers: wrong(new Map([["X-Own", "2"]])),
        query: wrong(new URLSearchParams("a=3")),
      },
    );
    const [url, init] = fetch.mock.calls[0] ?? [];
    expect(new URL(String(url)).search).toBe("?limit=5&a=3");
    expect(init?.headers).toMatchObject({ "x-default": "1", "x-own": "2" });
  });

  it("may be an idempotency key that is a number, without which a retry could be charged twice", async () => {
    const fetch = answersInTurn(unreachable, () => Response.json({}));
    const idempotencyKey = wrong<string>(5);
    await newClient({ fetch, maxRetries: 1 }).chat.completions.create(ask, { idempotencyKey });
    for (const [, init] of fetch.mock.calls) expect(init?.headers).toMatchObject({ "idempotency-key": "5" });
    expect(fetch).toHaveBeenCalledTimes(2);
  });
});

describe("what is not set", () => {
  it("counts as left out, whether it is undefined or null", async () => {
    const fetch = answersInTurn(emptyList);
    const unset = { appInfo: null, baseURL: null, defaultHeaders: { "x-default": undefined }, logger: null };
    const asked = newClient({ fetch, ...wrong<ClientOptions>(unset) });
    await asked.audit.list(wrong({ model: null, status: undefined, limit: 5 }), {
      headers: wrong({ "x-trace": undefined, "x-tenant": null, "x-sent": "yes" }),
      signal: wrong(null),
    });
    const [url, init] = fetch.mock.calls[0] ?? [];
    expect(new URL(String(url)).search).toBe("?limit=5");
    const sent = Object.keys(init?.headers as Record<string, string>);
    expect(sent.filter((name) => name.startsWith("x-"))).toEqual(["x-sent"]);
  });

  it("leaves an export the default of its format", async () => {
    const line = '{"id":"1","cursor":"5~019b0000-0000-7000-8000-000000000000~1-1"}';
    const fetch = answersInTurn(() => new Response(`${line}\n`));
    const exported = newClient({ fetch }).audit.export(wrong({ format: null, proof: null, cursor: null }));
    expect(await collect(exported)).toEqual([line]);
    expect(exported.progress.lines).toBe(1);
    expect(new URL(String(fetch.mock.calls[0]?.[0])).search).toBe("?format=ndjson");
  });

  it("leaves the client its own fetch", () => {
    expect(newClient({ fetch: wrong(null) })).toBeInstanceOf(Ostiary);
  });

  it("leaves a key that is created its idempotency key, with which a lost answer is asked for again", async () => {
    const created = () => Response.json({ result: { data: { json: { key: "sk-new" } } } });
    const fetch = answersInTurn(unreachable, created);
    const manager = newClient({ fetch, managementToken: "mt-test", maxRetries: 1 });
    const { key } = await manager.keys.create({ name: "nightly", idempotencyKey: undefined });
    expect(key).toBe("sk-new");
    const [first, second] = fetch.mock.calls.map(([, init]) => init?.body);
    expect(second).toBe(first);
    expect(first).toMatch(/"idempotencyKey":"ostiary-[0-9a-f-]{36}"/);
  });
});
