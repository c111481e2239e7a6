import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { answerWhole, type ReceivedRequest } from "../fixtures/model-server.ts";
import { answerWithUsage, type CreditService, startCreditService } from "./credit-service.ts";

/** Headers of HTTP itself and of Node's connections, which the document does not describe. */
const OF_HTTP =
  /^(?:date|connection|keep-alive|transfer-encoding|content-(?:type|length|encoding)|vary|x-accel-buffering)$/;

let credit: CreditService;
let key: string;
let token: string;
// biome-ignore lint/suspicious/noExplicitAny: a document of any shape, until it has been looked at
let document: any;
const seen = new Set<string>();

beforeAll(async () => {
  credit = await startCreditService();
  document = await (await fetch(`${credit.baseUrl}/v1/openapi.json`)).json();
  const owner = await credit.ownerWith(0n);
  key = owner.key;
  token = (await owner.trpc.tokens.create.mutate({ name: "script" })).token;
  const limits = { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrentRequests: null };
  await credit.operator.trpc.operator.accounts.setLimits.mutate({ id: owner.accountId, limits });
});

afterEach(() => credit.setAnswer(answerWhole));

afterAll(() => credit?.[Symbol.asyncDispose]());

interface Asked {
  readonly status: number;
  readonly credential?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

/** Sends a request, and expects of its answer the status and all that the document says of the headers. */
async function expectDescribed(operation: string, asked: Asked): Promise<void> {
  const { status, credential = key, body, headers = {}, query = "" } = asked;
  const [method = "", path = ""] = operation.split(" ");
  const response = await fetch(credit.baseUrl + path.replace("{id}", "acme/free") + query, {
    method,
    headers: { authorization: `Bearer ${credential}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.status, text).toBe(status);
  const described = document.paths[path][method.toLowerCase()].responses[status].headers;
  for (const [name, value] of response.headers) {
    if (OF_HTTP.test(name)) continue;
    expect(Object.keys(described), `${operation} ${status}`).toContain(name);
    const { schema } = document.components.headers[name];
    const read = schema.type === "integer" ? Number(value) : value;
    expect(new Ajv2020().validate(schema, read), `${name}: ${value}`).toBe(true);
    seen.add(name);
  }
  for (const [name, { $ref }] of Object.entries<{ readonly $ref: string }>(described)) {
    expect($ref).toBe(`#/components/headers/${name}`);
    if (document.components.headers[name].required === true)
      expect([...response.headers.keys()]).toContain(name);
  }
}

const CHAT = "POST /v1/chat/completions";
const MESSAGES = "POST /v1/messages";
const asked = { model: "acme/free", messages: [{ role: "user", content: "hi" }] };

describe("the headers that the OpenAPI document describes", () => {
  it("are those of answers, which have no others", async () => {
    const repeated = { "idempotency-key": "once" };
    await expectDescribed(CHAT, { status: 200, body: asked });
    await expectDescribed(CHAT, { status: 200, body: asked, headers: repeated });
    await expectDescribed(CHAT, { status: 200, body: asked, headers: repeated });
    await expectDescribed(CHAT, { status: 422, body: { ...asked, seed: 1 }, headers: repeated });
    await expectDescribed(CHAT, { status: 400, body: { ...asked, temperature: 3 } });
    await expectDescribed(CHAT, { status: 401, body: asked, credential: "sk-wrong" });
    await expectDescribed(CHAT, { status: 402, body: { ...asked, model: "acme/output" } });
    await expectDescribed(CHAT, { status: 404, body: { ...asked, model: "no/such" } });
    await expectDescribed(CHAT, { status: 415, body: asked, headers: { "content-type": "text/plain" } });
    const max = { max_tokens: 1_000_000 };
    await expectDescribed(CHAT, { status: 429, body: { ...asked, ...max } });
    await expectDescribed("POST /v1/messages/count_tokens", { status: 200, body: asked });
    await expectDescribed(MESSAGES, { status: 200, body: { ...asked, max_tokens: 9 } });
    await expectDescribed(MESSAGES, { status: 429, body: { ...asked, ...max } });
    await expectDescribed("GET /v1/models", { status: 200 });
    const anthropic = { "anthropic-version": "2023-06-01" };
    await expectDescribed("GET /v1/models", { status: 401, credential: "sk-wrong", headers: anthropic });
    await expectDescribed("GET /v1/models/{id}", { status: 200, headers: anthropic });
    await expectDescribed("GET /v1/audit", { status: 200 });
    await expectDescribed("GET /v1/audit/export", { status: 200 });
    await expectDescribed("GET /v1/account/actions/export", { status: 200, credential: token });
    await expectDescribed("GET /v1/keys", { status: 200, credential: token });
    await expectDescribed("GET /v1/keys", { status: 400, credential: token, query: "?limit=0" });
    await expectDescribed("POST /v1/keys", { status: 200, credential: token, body: { name: "second" } });
    await expectDescribed("POST /v1/keys", { status: 409, credential: token, body: { name: "second" } });
    await expectDescribed("POST /v1/responses", {
      status: 200,
      body: { model: "acme/free", input: "hi", prompt_cache_retention: "24h" },
    });
    // The document promises nothing that no answer has.
    expect([...seen].sort()).toEqual(Object.keys(document.components.headers).sort());
  });

  it("are those of a stream", async () => {
    credit.setAnswer(answerWithUsage({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }));
    await expectDescribed(CHAT, { status: 200, body: { ...asked, stream: true } });
    await expectDescribed(MESSAGES, { status: 200, body: { ...asked, max_tokens: 9, stream: true } });
  });

  it.each([
    [CHAT, 429, 503],
    [CHAT, 500, 502],
    [CHAT, 504, 504],
    [MESSAGES, 429, 529],
  ])("are those of %s when its upstream answers %i", async (operation, answered, status) => {
    credit.setAnswer(({ response }: ReceivedRequest) => void response.writeHead(answered).end("{}"));
    await expectDescribed(operation, { status, body: { ...asked, max_tokens: 9 } });
  });

  it("are those of a request whose idempotency key is in use", async () => {
    const held = new Promise<ReceivedRequest>((resolve) => credit.setAnswer(resolve));
    const headers = { "idempotency-key": "in-use" };
    const first = expectDescribed(CHAT, { status: 200, body: asked, headers });
    const received = await held;
    await expectDescribed(CHAT, { status: 409, body: asked, headers });
    answerWhole(received);
    await first;
  });
});
