import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { APIConnectionError, Ostiary, type RequestEvent } from "../../sdk/src/index.ts";
import { OstiaryOperator } from "../../sdk/src/operator.ts";
import { type FaultProxy, openFaultProxy } from "../fixtures/fault-proxy.ts";
import { chunkOf } from "../fixtures/model-server.ts";
import {
  answerWith,
  balanceOf,
  type CreditService,
  OUTPUT_NANO_USD,
  startCreditService,
} from "../integration/credit-service.ts";
import { answersInTurn, caught, failing, newClient, unreachable } from "./fake-service.ts";

const ask = { model: "acme/output", messages: [{ role: "user" as const, content: "hi" }], max_tokens: 100 };
const completion = () => Response.json({ choices: [] });

/** The idempotency keys of the requests that a `fetch` got. */
const keysOf = ({ mock }: ReturnType<typeof answersInTurn>) =>
  mock.calls.map(([, init]) => new Headers(init?.headers).get("idempotency-key"));

describe("the idempotency key of a request", () => {
  it("is made once for each call, and the same for each of its attempts", async () => {
    const soon = { "retry-after-ms": "1" };
    const fetch = answersInTurn(failing(503, soon), unreachable, completion);
    const client = newClient({ fetch, maxRetries: 2 });
    await client.chat.completions.create(ask);
    await client.embeddings.create({ model: "m", input: "x" });
    const [first, second, third, other] = keysOf(fetch);
    expect(first).toMatch(/^ostiary-[0-9a-f-]{36}$/);
    expect([second, third]).toEqual([first, first]);
    expect(other).toMatch(/^ostiary-/);
    expect(other).not.toBe(first);
  });

  it("is made also where `crypto.randomUUID` is missing, as in pages without TLS", async () => {
    vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
    const fetch = answersInTurn(completion);
    const client = newClient({ fetch, maxRetries: 2 });
    await client.chat.completions.create(ask);
    await client.chat.completions.create(ask);
    vi.unstubAllGlobals();
    const [first, second] = keysOf(fetch);
    expect(first).toMatch(/^ostiary-\d+-\d+-\d+-\d+$/);
    expect(second).not.toBe(first);
  });

  it("is the caller's if there is one, and none if the caller wants none", async () => {
    const fetch = answersInTurn(completion);
    const client = newClient({ fetch, maxRetries: 2 });
    await client.chat.completions.create(ask, { idempotencyKey: "order-1" });
    await client.chat.completions.create(ask, { idempotencyKey: null });
    await client.chat.completions.create({ ...ask, stream: true }, { idempotencyKey: "order-2" });
    expect(keysOf(fetch)).toEqual(["order-1", null, "order-2"]);
  });

  it("is not sent with a request that is not retried, reads, or is a stream, which its caller may end", async () => {
    const fetch = answersInTurn(completion);
    await newClient({ fetch }).chat.completions.create(ask);
    const client = newClient({ fetch, maxRetries: 2 });
    await client.chat.completions.create({ ...ask, stream: true });
    await client.models.retrieve("m");
    await client.post("/chat/completions", { body: { ...ask, stream: true } }).asResponse();
    expect(keysOf(fetch)).toEqual([null, null, null, null]);
  });

  it("lets the client wait for an earlier attempt that is being answered, beyond its retries", async () => {
    const inUse = () =>
      Response.json(
        { error: { message: "m", type: "t", param: null, code: "idempotency_key_in_use" } },
        { status: 409, headers: { "retry-after-ms": "1" } },
      );
    const fetch = answersInTurn(unreachable, ...Array.from({ length: 10 }, () => inUse), completion);
    await newClient({ fetch, maxRetries: 1 }).chat.completions.create(ask);
    expect(fetch).toHaveBeenCalledTimes(12);
  });

  it.each(["86400", "99999999999999999999", "0"])(
    "does not let the client wait for an earlier attempt beyond `timeout`, nor without pause: retry-after: %s",
    async (value) => {
      const code = "idempotency_key_in_use";
      const fetch = answersInTurn(() =>
        Response.json(
          { error: { message: "m", type: "t", param: null, code } },
          { status: 409, headers: { "retry-after": value } },
        ),
      );
      const client = newClient({ fetch, maxRetries: 1, timeout: 1_500 });
      expect(await caught(client.chat.completions.create(ask))).toMatchObject({
        name: "ConflictError",
        code,
      });
      expect(fetch.mock.calls.length).toBeLessThan(6);
    },
  );
});

describe("a POST without an idempotency key", () => {
  it.each([
    ["whose answer was lost", unreachable],
    ["that a proxy answers with 502", failing(502)],
    ["that a proxy answers with 504", failing(504)],
  ])("%s is not sent again, because its work may have been done", async (_, answer) => {
    const fetch = answersInTurn(answer, completion);
    const { chat } = newClient({ fetch, maxRetries: 2 });
    await caught(chat.completions.create({ ...ask, stream: true }));
    await caught(chat.completions.create(ask, { idempotencyKey: null }));
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it.each([
    ["by a limit", failing(429, { "retry-after-ms": "1" })],
    ["with an error of the service", failing(503, { "retry-after-ms": "1", "x-request-id": "req_1" })],
  ])("that was refused %s is sent again", async (_, answer) => {
    const fetch = answersInTurn(answer, () => new Response("data: [DONE]\n\n"));
    await newClient({ fetch, maxRetries: 2 }).chat.completions.create({ ...ask, stream: true });
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it("that changes something for an operator is not sent again, whether its answer was lost or is an error", async () => {
    for (const answer of [unreachable, failing(503, { "retry-after-ms": "1", "x-request-id": "req_1" })]) {
      const fetch = answersInTurn(answer);
      const operator = new OstiaryOperator({ managementToken: "mt-x", fetch, maxRetries: 2 });
      await caught(operator.accounts.suspend("id", { reason: "test" }));
      expect(fetch).toHaveBeenCalledTimes(1);
    }
  });
});

describe("a request whose answer a proxy drops", () => {
  let service: CreditService;
  let proxy: FaultProxy;

  beforeAll(async () => {
    service = await startCreditService();
    proxy = await openFaultProxy(Number(new URL(service.baseUrl).port));
  });
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
  });

  it("is answered by its retry and charged once", async () => {
    service.setAnswer(answerWith(100, 0));
    service.upstream.received.length = 0;
    const owner = await service.ownerWith(10n * OUTPUT_NANO_USD);
    const attempts: RequestEvent[] = [];
    const client = new Ostiary({ apiKey: owner.key, baseURL: `http://127.0.0.1:${proxy.port}` });
    client.on("request", (event) => attempts.push(event));
    const dropped = proxy.loseAnswers(1, (statement) => statement.includes("POST /v1/chat/completions"));
    const answer = await client.chat.completions.create(ask);
    expect(dropped.lost).toBe(1);
    expect(answer.choices[0]?.message.content).toBe("x");
    expect(attempts.length).toBeGreaterThan(1);
    expect(new Set(attempts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(service.upstream.received).toHaveLength(1);
    expect(await balanceOf(owner)).toBe(9n * OUTPUT_NANO_USD);
    await service.reconcile();
  });

  it("grants credit once, by its retry", async () => {
    const owner = await service.ownerWith(0n);
    const { token } = await service.operator.trpc.tokens.create.mutate({ name: crypto.randomUUID() });
    const baseURL = `http://127.0.0.1:${proxy.port}`;
    const operator = new OstiaryOperator({ managementToken: token, baseURL });
    const dropped = proxy.loseAnswers(1, (statement) => statement.includes("accounts.grantCredits"));
    const grant = { amountNanoUsd: 7n, reason: "test" };
    const granted = await operator.accounts.grantCredits(owner.accountId, grant);
    expect(dropped.lost).toBe(1);
    expect(granted).toEqual({ amountNanoUsd: "7", balanceNanoUsd: "7" });
    expect(await balanceOf(owner)).toBe(7n);
  });

  it("in the middle of it, is answered by its retry and charged once", async () => {
    service.setAnswer(answerWith(100, 0));
    service.upstream.received.length = 0;
    const owner = await service.ownerWith(10n * OUTPUT_NANO_USD);
    let answers = 0;
    const cutting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const text = await response.text();
      if (answers++ > 0) return new Response(text, response);
      const half = new TextEncoder().encode(text.slice(0, text.length / 2));
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(half),
        pull: (controller) => controller.error(new TypeError("terminated")),
      });
      return new Response(body, response);
    };
    const client = new Ostiary({ apiKey: owner.key, baseURL: service.baseUrl, fetch: cutting });
    const { data, response } = await client.chat.completions.create(ask).withResponse();
    expect(data.choices[0]?.message.content).toBe("x");
    expect(response.headers.get("idempotency-replayed")).toBe("true");
    expect(answers).toBe(2);
    expect(await balanceOf(owner)).toBe(9n * OUTPUT_NANO_USD);
  });

  it("is charged at most once when it is streamed: the client does not send it again", async () => {
    service.setAnswer(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.end(`${chunkOf({ content: "x" })}${chunkOf({}, "stop")}data: [DONE]\n\n`);
    });
    service.upstream.received.length = 0;
    const owner = await service.ownerWith(10n * OUTPUT_NANO_USD);
    const client = new Ostiary({ apiKey: owner.key, baseURL: `http://127.0.0.1:${proxy.port}` });
    proxy.loseAnswers(1, (statement) => statement.includes("POST /v1/chat/completions"));
    const error = await caught(client.chat.completions.create({ ...ask, stream: true }));
    expect(error).toBeInstanceOf(APIConnectionError);
    expect(service.upstream.received).toHaveLength(1);
  });
});
