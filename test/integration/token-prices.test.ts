import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { verifyAuditExport } from "../../sdk/src/index.ts";
import { answerWhole } from "../fixtures/model-server.ts";
import { answerWithUsage, balanceOf, type CreditService, startCreditService } from "./credit-service.ts";

/** The highest prices of a token of `acme/parts`, in nano-USD: those of audio in a prompt and of images in an answer. */
const MAX_INPUT = 9_000n;
const MAX_OUTPUT = 40_000n;

const NO_PARTS = {
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 0,
  audioTokens: 0,
  imageTokens: 0,
};

let credit: CreditService;

beforeAll(async () => {
  credit = await startCreditService();
});

afterEach(() => credit.setAnswer(answerWhole));

afterAll(() => credit?.[Symbol.asyncDispose]());

/** A usage of 100 tokens of prompt at 1,000 nano-USD, and 10 of the answer at 5,000. */
function usageWith(prompt: object, completion: object) {
  return {
    prompt_tokens: 100,
    completion_tokens: 10,
    total_tokens: 110,
    prompt_tokens_details: prompt,
    completion_tokens_details: completion,
  };
}

describe("tokens with a price of their own", () => {
  it.each([
    ["cached", { cached_tokens: 40 }, {}, { cachedTokens: 40 }, 114_000n],
    ["written to the cache", { cache_write_tokens: 40 }, {}, { cacheWriteTokens: 40 }, 160_000n],
    ["of audio in the prompt", { audio_tokens: 40 }, {}, { audioTokens: 40 }, 470_000n],
    ["of images in the prompt", { image_tokens: 40 }, {}, { imageTokens: 40 }, 230_000n],
    ["of reasoning", {}, { reasoning_tokens: 4 }, { reasoningTokens: 4 }, 146_000n],
    ["of speech", {}, { audio_tokens: 4 }, { audioTokens: 4 }, 250_000n],
    ["of images in the answer", {}, { image_tokens: 4 }, { imageTokens: 4 }, 290_000n],
    [
      "of several parts, of which the cache has 90: the other 10 are of audio",
      { cached_tokens: 90, audio_tokens: 20, image_tokens: 5 },
      { audio_tokens: 3, image_tokens: 4 },
      { cachedTokens: 90, audioTokens: 23, imageTokens: 9 },
      9_000n + 90_000n + (90_000n + 160_000n + 15_000n),
    ],
  ])("that are %s are charged and logged, streamed or not", async (_, prompt, completion, parts, cost) => {
    const owner = await credit.ownerWith(1_000_000_000n);
    credit.setAnswer(answerWithUsage(usageWith(prompt, completion)));
    for (const stream of [false, true]) {
      const response = await credit.chat(owner.key, { model: "acme/parts", stream });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    }
    const { entries } = await owner.trpc.audit.list.query();
    const logged = {
      promptTokens: 100,
      completionTokens: 10,
      ...NO_PARTS,
      ...parts,
      costNanoUsd: cost,
      usageSource: "upstream",
    };
    expect(entries).toMatchObject([logged, logged]);
    expect(await balanceOf(owner)).toBe(1_000_000_000n - 2n * cost);
    await credit.reconcile();
  });

  it.each([
    ["and tells", { reasoning_tokens: 300 }],
    // As Google does.
    ["and does not tell", {}],
  ])(
    "of reasoning that an upstream counts apart from the answer %s are charged, streamed or not",
    async (_, completion) => {
      const owner = await credit.ownerWith(1_000_000_000n);
      credit.setAnswer(answerWithUsage({ ...usageWith({}, completion), total_tokens: 410 }));
      for (const stream of [false, true]) {
        const response = await credit.chat(owner.key, { model: "acme/parts", stream });
        expect(response.status).toBe(200);
        await response.arrayBuffer();
      }
      const logged = {
        promptTokens: 100,
        completionTokens: 310,
        reasoningTokens: 300,
        usageSource: "upstream",
      };
      expect((await owner.trpc.audit.list.query()).entries).toMatchObject([logged, logged]);
      expect(await balanceOf(owner)).toBe(1_000_000_000n - 2n * (100_000n + 50_000n + 1_200_000n));
      await credit.reconcile();
    },
  );

  it.each(["cached_tokens", "prompt_cache_hit_tokens"])(
    "that an upstream reports as %s are charged at the price of cached ones",
    async (name) => {
      const owner = await credit.ownerWith(1_000_000_000n);
      credit.setAnswer(answerWithUsage({ prompt_tokens: 100, completion_tokens: 10, [name]: 40 }));
      for (const stream of [false, true]) {
        const response = await credit.chat(owner.key, { model: "acme/parts", stream });
        expect(response.status).toBe(200);
        await response.arrayBuffer();
      }
      expect(await balanceOf(owner)).toBe(1_000_000_000n - 2n * 114_000n);
    },
  );

  it("are in the API's entries and both forms of an export, which can be verified", async () => {
    const owner = await credit.ownerWith(1_000_000_000n);
    const prompt = { cached_tokens: 1, cache_write_tokens: 2, audio_tokens: 3, image_tokens: 4 };
    credit.setAnswer(answerWithUsage(usageWith(prompt, { reasoning_tokens: 5 })));
    expect((await credit.chat(owner.key, { model: "acme/parts" })).status).toBe(200);
    const read = async (path: string) => {
      const response = await fetch(`${credit.baseUrl}${path}`, {
        headers: { authorization: `Bearer ${owner.key}` },
      });
      return response.text();
    };
    const told = {
      cached_tokens: 1,
      cache_write_tokens: 2,
      cache_write_1h_tokens: 0,
      reasoning_tokens: 5,
      audio_tokens: 3,
      image_tokens: 4,
    };
    expect(JSON.parse(await read("/v1/audit")).data[0]).toMatchObject(told);
    const exported = await read("/v1/audit/export?format=ndjson");
    expect(JSON.parse(exported.split("\n")[0] ?? "")).toMatchObject(told);
    const [names = "", ...lines] = (await read("/v1/audit/export?format=csv")).trimEnd().split("\n");
    const columns = names.split(",");
    const values = lines.find((line) => line.includes("POST /v1/chat/completions"))?.split(",") ?? [];
    for (const [name, value] of Object.entries(told)) {
      expect(values[columns.indexOf(name)], name).toBe(String(value));
    }
    expect(await owner.trpc.audit.verify.query({})).toMatchObject({ problems: [] });
  });

  it("are covered by the digests of an export: a change of one of them is found", async () => {
    const owner = await credit.ownerWith(1_000_000_000n);
    credit.setAnswer(answerWithUsage(usageWith({ cached_tokens: 1, cache_write_tokens: 2 }, {})));
    for (let request = 0; request < 3; request++) {
      expect((await credit.chat(owner.key, { model: "acme/parts" })).status).toBe(200);
    }
    await owner.trpc.audit.list.query();
    for (const proof of ["", "&proof=true&model=acme/parts"]) {
      const response = await fetch(`${credit.baseUrl}/v1/audit/export?format=ndjson${proof}`, {
        headers: { authorization: `Bearer ${owner.key}` },
      });
      const lines = (await response.text()).trimEnd().split("\n");
      expect(lines.filter((line) => line.includes('"cache_write_tokens":2'))).toHaveLength(3);
      expect((await verifyAuditExport(lines)).problems).toEqual([]);
      for (const other of ['"cache_write_tokens":3', '"cache_write_tokens":null']) {
        const changed = lines.map((line) => line.replace('"cache_write_tokens":2', other));
        expect((await verifyAuditExport(changed)).problems).not.toEqual([]);
      }
    }
  });

  it("are not known of an answer whose tokens are estimated, nor of a refused request", async () => {
    const owner = await credit.ownerWith(1_000_000_000n);
    credit.setAnswer(answerWithUsage(usageWith({ audio_tokens: -1 }, {})));
    expect((await credit.chat(owner.key, { model: "acme/parts" })).status).toBe(200);
    expect((await credit.chat(owner.key, { model: "acme/absent" })).status).toBe(404);
    const { entries } = await owner.trpc.audit.list.query();
    const unknown = Object.fromEntries(Object.keys(NO_PARTS).map((name) => [name, null]));
    expect(entries).toMatchObject([
      { status: 404, ...unknown },
      { status: 200, usageSource: "estimated", ...NO_PARTS },
    ]);
  });
});

describe("images with a price of their own", () => {
  it("are charged for if the model gets them, and not if they are left out for it", async () => {
    const owner = await credit.ownerWith(1_000_000_000n);
    credit.setAnswer(answerWithUsage(usageWith({}, {})));
    const shown = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
    const input = [
      { role: "user", content: [shown, { type: "input_text", text: "Another one." }] },
      { type: "image_generation_call", id: "ig_1", status: "completed", result: "iVBORw0KGgo=" },
      { role: "user", content: "And?" },
    ];
    for (const stream of [false, true]) {
      const response = await fetch(`${credit.baseUrl}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/images", input, stream, store: false }),
      });
      expect([response.status, response.headers.get("ostiary-ignored-fields")]).toEqual([200, "input.1"]);
      await response.arrayBuffer();
    }
    const cost = { costNanoUsd: 10_000_000n };
    expect((await owner.trpc.audit.list.query()).entries).toMatchObject([cost, cost]);
    expect(await balanceOf(owner)).toBe(1_000_000_000n - 20_000_000n);
    await credit.reconcile();
  });
});

describe("the hold of a request to a model with such prices", () => {
  const BODY = JSON.stringify({
    model: "acme/parts",
    messages: [{ role: "user", content: "hi" }],
    max_tokens: 100,
  });
  /** Each byte of the body may be a token of the most expensive kind, and so may each of the 100 of the answer. */
  const MAX_COST = BigInt(BODY.length) * MAX_INPUT + 100n * MAX_OUTPUT;

  /** Sends {@link BODY}, as it is, to an upstream that answers with as many of the most expensive tokens as it may. */
  async function spendAll(key: string): Promise<Response> {
    credit.setAnswer((request) => {
      const tokens = Number(request.body.max_tokens);
      answerWithUsage({
        prompt_tokens: BODY.length,
        completion_tokens: tokens,
        prompt_tokens_details: { audio_tokens: BODY.length },
        completion_tokens_details: { image_tokens: tokens },
      })(request);
    });
    return await fetch(`${credit.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: BODY,
    });
  }

  it("covers the most expensive prompt and answer", async () => {
    const owner = await credit.ownerWith(MAX_COST);
    expect((await spendAll(owner.key)).status).toBe(200);
    expect(credit.upstream.received.at(-1)?.body.max_tokens).toBe(100);
    expect(await balanceOf(owner)).toBe(0n);
    const { entries } = await owner.trpc.credits.ledger.query();
    expect(entries.map(({ kind }) => kind)).toEqual(["charge", "grant"]);
    await credit.reconcile();
  });

  it("with less credit limits the answer to what can be paid for at the highest price", async () => {
    const owner = await credit.ownerWith(MAX_COST - 1n);
    expect((await spendAll(owner.key)).status).toBe(200);
    expect(credit.upstream.received.at(-1)?.body.max_tokens).toBe(99);
    expect(await balanceOf(owner)).toBe(MAX_OUTPUT - 1n);
    const { entries } = await owner.trpc.credits.ledger.query();
    expect(entries.map(({ kind }) => kind)).toEqual(["charge", "grant"]);
    await credit.reconcile();
  });

  it("that credit does not cover for a prompt and 16 tokens is refused", async () => {
    const owner = await credit.ownerWith(BigInt(BODY.length) * MAX_INPUT + 16n * MAX_OUTPUT - 1n);
    const before = credit.upstream.received.length;
    expect((await spendAll(owner.key)).status).toBe(402);
    expect(credit.upstream.received.length).toBe(before);
  });
});

describe("the list of models", () => {
  it("has all prices, with the defaults of those that the catalog does not set", async () => {
    const owner = await credit.ownerWith(0n);
    const response = await fetch(`${credit.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${owner.key}` },
    });
    const { data } = (await response.json()) as { data: { id: string; pricing: unknown }[] };
    const pricingOf = (id: string) => data.find((model) => model.id === id)?.pricing;
    expect(pricingOf("acme/parts")).toEqual({
      input_usd_per_mtok: "1",
      cached_input_usd_per_mtok: "0.1",
      cache_write_usd_per_mtok: "1.25",
      cache_write_1h_usd_per_mtok: "2",
      audio_input_usd_per_mtok: "9",
      image_input_usd_per_mtok: "3",
      output_usd_per_mtok: "5",
      reasoning_usd_per_mtok: "4",
      audio_output_usd_per_mtok: "30",
      image_output_usd_per_mtok: "40",
      image_usd: "0",
    });
    expect(pricingOf("acme/chat")).toEqual({
      input_usd_per_mtok: "1",
      cached_input_usd_per_mtok: "1",
      cache_write_usd_per_mtok: "1",
      cache_write_1h_usd_per_mtok: "1",
      audio_input_usd_per_mtok: "1",
      image_input_usd_per_mtok: "1",
      output_usd_per_mtok: "10",
      reasoning_usd_per_mtok: "10",
      audio_output_usd_per_mtok: "10",
      image_output_usd_per_mtok: "10",
      image_usd: "0",
    });
    expect(pricingOf("acme/free")).toBeNull();
  });
});
