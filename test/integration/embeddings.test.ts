import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;
let owner: Awaited<ReturnType<typeof signUpWithKey>>;
let client: OpenAI;
/** Whether the upstream refuses embeddings in base64. Otherwise it writes numbers whatever is asked for. */
let isStrict = false;
/** The tokens of the prompt that the upstream reports; `null`: it reports no usage. */
let reported: number | null = 1_000;

beforeAll(async () => {
  upstream = await startModelServer(({ body, response }) => {
    response.setHeader("content-type", "application/json");
    if (isStrict && (body as { encoding_format?: string }).encoding_format === "base64") {
      response.statusCode = 422;
      response.end('{"detail":[{"loc":["body","encoding_format"],"msg":"Input should be \'float\'"}]}');
    } else {
      response.end(
        '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-0.20000000000000001]}],"model":"inner",' +
          (reported === null ? "" : `"usage":{"prompt_tokens":${reported},"total_tokens":${reported}},`) +
          '"vendor":12345678901234567890}',
      );
    }
  });
  catalog = await writeCatalog({
    upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl }, sandbox: { dialect: "sandbox" } },
    models: [
      {
        id: "acme/embed",
        contextTokens: 8_192,
        modalities: { input: ["text"], output: ["embedding"] },
        prices: { inputUsdPerMTok: 1, outputUsdPerMTok: 0 },
        routes: [{ upstream: "main", model: "inner" }],
      },
      { id: "sandbox/embedding", routes: [{ upstream: "sandbox", model: "embedding" }] },
    ],
  });
  service = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
  owner = await signUpWithKey(service.baseUrl);
  client = new OpenAI({ apiKey: owner.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
});

describe("embeddings", () => {
  it("are returned as the upstream sent them, under the model's own name, and charged", async () => {
    const before = (await owner.trpc.credits.balance.query()).balanceNanoUsd;
    // No token is shorter than a byte: more than that is never charged, whatever an upstream says.
    const input = "word ".repeat(1_000);
    const response = await fetch(`${service.baseUrl}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
      body: `{"model":"acme/embed","input":"${input}","unknown":98765432109876543210}`,
    });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain("-0.20000000000000001");
    expect(text).toContain('"vendor":12345678901234567890');
    expect(text).toContain('"model":"acme/embed"');
    expect(upstream.received.at(-1)?.path).toBe("/v1/embeddings");
    expect(upstream.received.at(-1)?.body).toMatchObject({ model: "inner", input });
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(before - 1_000_000n);
    expect((await owner.trpc.audit.list.query({ limit: 1 })).entries[0]).toMatchObject({
      endpoint: "POST /v1/embeddings",
      model: "acme/embed",
      promptTokens: 1_000,
      completionTokens: 0,
    });
  });

  it("are charged for an estimate where the upstream reports 0 tokens", async () => {
    reported = 0;
    await client.embeddings.create({ model: "acme/embed", input: " word".repeat(50) });
    reported = 1_000;
    expect((await owner.trpc.audit.list.query({ limit: 1 })).entries[0]).toMatchObject({
      usageSource: "estimated",
      promptTokens: 50,
      costNanoUsd: 50_000n,
    });
  });

  it("tell the estimate that is charged where the upstream reports no usage", async () => {
    reported = null;
    const { usage } = await client.embeddings.create({ model: "acme/embed", input: " word".repeat(50) });
    reported = 1_000;
    expect(usage).toEqual({ prompt_tokens: 50, total_tokens: 50 });
    expect((await owner.trpc.audit.list.query({ limit: 1 })).entries[0]).toMatchObject({
      usageSource: "estimated",
      promptTokens: 50,
    });
  });

  it("of the sandbox are equal for equal texts, near for similar texts, as numbers and as base64", async () => {
    const input = ["the cat sat on the mat", "the cat sat on a mat", "quarterly revenue grew"];
    const [one, two, three] = (
      await client.embeddings.create({ model: "sandbox/embedding", input, encoding_format: "float" })
    ).data.map(({ embedding }) => embedding);
    // openai asks for base64 unless told otherwise, and turns it back.
    const bytes = (await client.embeddings.create({ model: "sandbox/embedding", input })).data;
    const product = (a: number[] = [], b: number[] = []) =>
      a.reduce((sum, x, at) => sum + x * (b[at] ?? 0), 0);
    expect(product(one, one)).toBeCloseTo(1, 5);
    expect(product(one, two)).toBeGreaterThan(product(one, three));
    expect(bytes[0]?.embedding.map((x) => Math.fround(x))).toEqual(one?.map((x) => Math.fround(x)));
    const short = await client.embeddings.create({ model: "sandbox/embedding", input: "hi", dimensions: 8 });
    expect(short.data[0]?.embedding).toHaveLength(8);
    expect(short.usage.prompt_tokens).toBe(1);
  });

  it.each([false, true])(
    "are in base64 if asked for, also of an upstream without (strict: %s)",
    async (strict) => {
      isStrict = strict;
      for (let turn = 0; turn < 2; turn++) {
        const { data, usage } = await client.embeddings.create({
          model: "acme/embed",
          input: "hi",
          encoding_format: "base64",
        });
        const bytes = Buffer.from(String(data[0]?.embedding), "base64");
        expect([bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([Math.fround(0.1), Math.fround(-0.2)]);
        expect(usage.prompt_tokens).toBe(1_000);
      }
      expect(
        (await client.embeddings.create({ model: "acme/embed", input: "hi" })).data[0]?.embedding,
      ).toEqual([Math.fround(0.1), Math.fround(-0.2)]);
      isStrict = false;
    },
  );

  it("are refused for input that is not text", async () => {
    for (const input of ["", [], [""], {}, 7, null, [[]], [1.5], ["a", 1], Array(2_049).fill("x")]) {
      const response = await fetch(`${service.baseUrl}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/embed", input }),
      });
      expect(response.status, JSON.stringify(input).slice(0, 40)).toBe(400);
      expect((await response.json()).error.param).toMatch(/^input/);
    }
  });

  it("are computed once for an idempotency key", async () => {
    const idempotencyKey = crypto.randomUUID();
    const ask = () =>
      fetch(`${service.baseUrl}/v1/embeddings`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${owner.key}`,
          "content-type": "application/json",
          "idempotency-key": idempotencyKey,
        },
        body: JSON.stringify({ model: "acme/embed", input: "once" }),
      });
    const before = upstream.received.length;
    const first = await (await ask()).text();
    const again = await ask();
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await again.text()).toBe(first);
    expect(upstream.received.length).toBe(before + 1);
  });
});

describe("an OpenAI path that the service does not have", () => {
  it.each([
    ["/v1/responses/compact", "input"],
    ["/v1/completions", "/v1/chat/completions"],
    ["/v1/images/generations", "not served"],
    ["/v1/files", "POST /v1/messages"],
    ["/v1/skills", "POST /v1/messages"],
    ["/v1/chat/completions/chatcmpl-1", "not stored"],
    ["/v1/organization/usage/completions", "GET /v1/usage"],
    ["/v1/assistants/asst_1", "Keep the conversation"],
    ["/v1/agents/sessions", "POST /v1/responses"],
    ["/v1/live/sessions", "POST /v1/responses"],
    ["/v1/organization/users", "GET /v1/usage"],
    ["/v1/sessions/s_1/events", "POST /v1/messages"],
    ["/v1/v1/models", "base URL"],
    ["/api/v1/v1/models", "Set the client's base URL so that it ends in /v1 once"],
    ["/v1/chat/completions/chat/completions", "Set the client's base URL so that it ends in /v1"],
    ["/v1/chat/completions/v1/chat/completions", "Set the client's base URL so that it ends in /v1"],
    ["/v1/responses/responses", "Set the client's base URL so that it ends in /v1"],
    ["/v1/embeddings/embeddings", "Set the client's base URL so that it ends in /v1"],
    [
      "/chat/completions",
      "Use /v1/chat/completions. Set the client's base URL to the address of the service",
    ],
    ["/api/v1/chat/completions", "Use /v1/chat/completions. Set the client's base URL"],
    ["/gateway/openai/v1/responses", "Use /v1/responses. Set the client's base URL"],
    ["/openai/deployments/gpt-5/chat/completions", "Azure"],
    ["/v1beta/openai/chat/completions", "Google"],
    ["/v1/nonsense", "openapi.json"],
  ])("%s is refused with what to call instead", async (path, hint) => {
    const response = await fetch(`${service.baseUrl}${path}`, { method: "POST" });
    expect(response.status).toBe(404);
    const { error } = await response.json();
    expect(error.code).toBe("not_found");
    expect(error.message).toContain(hint);
    expect(error.message.split("base URL").length).toBeLessThan(3);
  });
});
