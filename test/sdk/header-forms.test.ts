import { describe, expect, it } from "vitest";
import type { HeadersLike } from "../../sdk/src/index.ts";
import { answersInTurn, collect, emptyList, newClient } from "./fake-service.ts";

const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const forms: Record<string, HeadersLike> = {
  "an object": { "X-Tenant": "acme", "x-unset": undefined, "x-null": null },
  Headers: new Headers({ "X-Tenant": "acme" }),
  "an array of pairs": [
    ["X-Tenant", "acme"],
    ["x-unset", undefined],
    ["x-null", null],
  ],
  "a Map": new Map([["X-Tenant", "acme"]]),
};
const streamed = () => new Response('data: {"id":"1","choices":[]}\n\ndata: [DONE]\n\n');
const whole = () =>
  Response.json({
    choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
  });
const result = (json: unknown) => () => Response.json({ result: { data: { json } } });
const ended = () => new Response("event: connected\ndata: {}\n\nevent: return\ndata: {}\n\n");

type Client = ReturnType<typeof newClient>;
/** Every kind of request, with an answer to it. */
const requests: Record<string, [() => Response, (client: Client, headers: HeadersLike) => unknown]> = {
  "models.list": [emptyList, ({ models }, headers) => models.list({ headers })],
  create: [whole, ({ chat }, headers) => chat.completions.create(ask, { headers })],
  "create with stream": [
    streamed,
    ({ chat }, headers) => collect(chat.completions.create({ ...ask, stream: true }, { headers })),
  ],
  stream: [streamed, ({ chat }, headers) => chat.completions.stream(ask, { headers }).done()],
  runTools: [
    whole,
    ({ chat }, headers) => chat.completions.runTools({ ...ask, tools: [] }, { headers }).done(),
  ],
  "audit.export": [
    () => new Response('{"cursor":"c1"}\n'),
    ({ audit }, headers) => collect(audit.export({}, { headers })),
  ],
  "keys.list": [result({ keys: [], nextCursor: null }), ({ keys }, headers) => keys.list({ headers })],
  "audit.tail": [ended, ({ audit }, headers) => collect(audit.tail({}, { headers }))],
  "trpc.audit.tail.subscribe": [
    ended,
    ({ trpc }, headers) => collect(trpc.audit.tail.subscribe({}, { headers })),
  ],
  get: [emptyList, (client, headers) => client.get("/models", { headers })],
  post: [emptyList, (client, headers) => client.post("/embeddings", { headers, body: {} })],
};

describe.each(Object.entries(forms))("headers given as %s", (_, headers) => {
  it.each(Object.entries(requests))("are sent with %s", async (_name, [answer, send]) => {
    const fetch = answersInTurn(answer);
    await send(newClient({ managementToken: "mt", fetch }), headers);
    const sent = fetch.mock.calls[0]?.[1]?.headers;
    expect(sent).toMatchObject({ "x-tenant": "acme" });
    for (const name of ["x-unset", "x-null"]) expect(sent).not.toHaveProperty(name);
  });

  it("are sent with every request of a client that has them as its default, and of its copies", async () => {
    const fetch = answersInTurn(emptyList);
    const client = newClient({ fetch, defaultHeaders: headers });
    await client.models.list();
    await client.withOptions({ maxRetries: 1 }).models.list();
    for (const [, init] of fetch.mock.calls) expect(init?.headers).toMatchObject({ "x-tenant": "acme" });
    expect(fetch).toHaveBeenCalledTimes(2);
  });
});

describe("a header with several values", () => {
  it("is sent with all of them", async () => {
    const fetch = answersInTurn(emptyList);
    const tags = [
      ["X-Tag", "a"],
      ["x-tag", "b"],
    ] as const;
    await newClient({ fetch, defaultHeaders: tags }).models.list();
    await newClient({ fetch }).models.list({ headers: tags });
    for (const [, init] of fetch.mock.calls) expect(init?.headers).toMatchObject({ "x-tag": "a, b" });
  });
});

describe("a subscription", () => {
  it("is asked for as events, whatever the caller's headers and an undefined timeout", async () => {
    const fetch = answersInTurn(ended);
    const options = { headers: { accept: "text/plain" }, timeout: undefined };
    await collect(newClient({ managementToken: "mt", fetch }).audit.tail({}, options));
    expect(fetch.mock.calls[0]?.[1]?.headers).toMatchObject({ accept: "text/event-stream" });
  });
});
