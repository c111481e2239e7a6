import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { answerWhole, chunkOf } from "../fixtures/model-server.ts";
import { startOperatedService } from "../fixtures/operator.ts";
import {
  answerWith,
  balanceOf,
  type CreditService,
  OUTPUT_NANO_USD,
  startCreditService,
} from "./credit-service.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

let credit: CreditService;

beforeAll(async () => {
  credit = await startCreditService();
});

afterEach(() => credit.setAnswer(answerWhole));

afterAll(() => credit?.[Symbol.asyncDispose]());

describe("credit", () => {
  it("is charged once for what a request cost, and the balance is the sum of the ledger", async () => {
    const owner = await credit.ownerWith(1_000_000_000n);
    credit.setAnswer(answerWith(40, 500));
    for (let number = 0; number < 5; number++) {
      const response = await credit.chat(owner.key, { model: "acme/chat" });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    }
    // 500 tokens at 1 USD and 40 at 10 USD a million.
    expect(await balanceOf(owner)).toBe(1_000_000_000n - 5n * (500n * 1_000n + 40n * 10_000n));
    const { entries } = await owner.trpc.credits.ledger.query();
    expect(entries.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)).toBe(await balanceOf(owner));
    expect(entries.at(-1)).toMatchObject({ kind: "grant", amountNanoUsd: 1_000_000_000n, reason: "test" });
    expect(entries[0]?.kind).toBe("charge");
    await credit.reconcile();
  });

  it("has a statement with the complete sum of a day's requests, however many charges they are", async () => {
    const owner = await credit.ownerWith(1_000_000_000n);
    credit.setAnswer(answerWith(1));
    // Each request has a charge of its own, because the balance is read after it: more charges than a page of the ledger has.
    for (let number = 0; number < 205; number++) {
      expect((await credit.chat(owner.key)).status).toBe(200);
      await balanceOf(owner);
    }
    const { nextCursor } = await owner.trpc.credits.ledger.query({ limit: 200 });
    expect(nextCursor).not.toBeNull();
    const { lines, nextCursor: next } = await owner.trpc.credits.statement.query();
    const spent = -205n * 10_000n;
    const requests = lines.filter(({ kind }) => kind === "requests");
    // Two lines if midnight has passed meanwhile.
    expect(requests.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)).toBe(spent);
    expect(requests.length).toBeLessThanOrEqual(2);
    for (const { at } of requests) expect(at.getTime() % (24 * 60 * 60_000)).toBe(0);
    expect(lines.at(-1)).toMatchObject({ kind: "grant", amountNanoUsd: 1_000_000_000n, reason: "test" });
    expect(lines.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)).toBe(await balanceOf(owner));
    expect(next).toBeNull();
    await credit.reconcile();
  });

  it("has a statement that says what of a day's costs was not collected", async () => {
    const owner = await credit.ownerWith(2n * OUTPUT_NANO_USD);
    credit.setAnswer(answerWith(1_000));
    expect((await credit.chat(owner.key)).status).toBe(200);
    expect(await balanceOf(owner)).toBe(0n);
    const { lines } = await owner.trpc.credits.statement.query();
    expect(lines).toMatchObject([
      { kind: "requests", amountNanoUsd: -2n * OUTPUT_NANO_USD, uncollectedNanoUsd: 8n * OUTPUT_NANO_USD },
      { kind: "grant", uncollectedNanoUsd: 0n },
    ]);
  });

  it("when exhausted refuses priced requests with 402, which no client retries, and serves free models", async () => {
    const owner = await credit.ownerWith(0n);
    const refused = await credit.chat(owner.key);
    expect(refused.status).toBe(402);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(refused.headers.has("retry-after")).toBe(false);
    expect((await refused.json()).error).toMatchObject({
      type: "insufficient_quota",
      code: "credit_balance_exhausted",
    });
    expect((await credit.chat(owner.key, { model: "acme/free" })).status).toBe(200);
    const before = credit.upstream.received.length;
    const client = new OpenAI({ apiKey: owner.key, baseURL: `${credit.baseUrl}/v1`, maxRetries: 3 });
    const call = client.chat.completions.create({
      model: "acme/output",
      messages: [{ role: "user", content: "hi" }],
    });
    await expect(call).rejects.toMatchObject({ status: 402 });
    expect(credit.upstream.received.length).toBe(before);
    const [entry] = (await owner.trpc.audit.list.query()).entries;
    expect(entry).toMatchObject({
      status: 402,
      errorCode: "credit_balance_exhausted",
      endReason: "refused",
      model: "acme/output",
      costNanoUsd: 0n,
    });
    await credit.grant(owner.accountId, 1_000_000_000n);
    expect((await credit.chat(owner.key)).status).toBe(200);
  });

  it("that is granted pays the next request, also while others are refused for lack of it", async () => {
    const owner = await credit.ownerWith(0n);
    const ended = new AbortController();
    const beside = Array.from({ length: 8 }, async () => {
      while (!ended.signal.aborted) await (await credit.chat(owner.key)).arrayBuffer();
    });
    // One request's cost at a time, which any of them may take.
    for (let grants = 1; grants <= 10; grants++) {
      expect((await credit.chat(owner.key)).status).toBe(402);
      await credit.grant(owner.accountId, OUTPUT_NANO_USD);
      await expect.poll(() => balanceOf(owner)).toBe(0n);
    }
    ended.abort();
    await Promise.all(beside);
    // The node does not ask the database for each of so many.
    for (let refused = 0; refused < 8; refused++) expect((await credit.chat(owner.key)).status).toBe(402);
    await credit.grant(owner.accountId, OUTPUT_NANO_USD);
    expect((await credit.chat(owner.key)).status).toBe(200);
    await credit.reconcile();
  });

  it("for 40 requests is spent by exactly 40 of 500 concurrent ones", async () => {
    const owner = await credit.ownerWith(40n * OUTPUT_NANO_USD);
    credit.setAnswer(answerWith(100));
    const statuses = await Promise.all(
      Array.from({ length: 500 }, async () => {
        for (;;) {
          const response = await credit.chat(owner.key);
          await response.arrayBuffer();
          // A machine that is busy with other things may refuse some of so many at once.
          if (response.status !== 503) return response.status;
        }
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(40);
    expect(statuses.filter((status) => status === 402)).toHaveLength(460);
    expect(await balanceOf(owner)).toBe(0n);
    await credit.reconcile();
  });

  it("is held for a request's maximum cost, and the rest is released when it cost less", async () => {
    const owner = await credit.ownerWith(2n * OUTPUT_NANO_USD);
    credit.setAnswer(answerWith(1));
    for (let number = 0; number < 50; number++) expect((await credit.chat(owner.key)).status).toBe(200);
    expect(await balanceOf(owner)).toBe(2n * OUTPUT_NANO_USD - 50n * 10_000n);
    await credit.reconcile();
  });

  it("that covers a request only in part limits what the upstream is asked for", async () => {
    const owner = await credit.ownerWith(OUTPUT_NANO_USD / 2n);
    credit.setAnswer(answerWith(50));
    expect((await credit.chat(owner.key)).status).toBe(200);
    expect(credit.upstream.received.at(-1)?.body.max_tokens).toBe(50);
    await expect.poll(() => balanceOf(owner)).toBe(0n);
    await credit.grant(owner.accountId, OUTPUT_NANO_USD / 2n);
    await expect
      .poll(
        async () =>
          (await credit.chat(owner.key, { max_tokens: undefined, max_completion_tokens: 200 })).status,
      )
      .toBe(200);
    expect(credit.upstream.received.at(-1)?.body).toMatchObject({ max_completion_tokens: 50 });
  });

  it("that covers an answer as long as the context asks no upstream for that many tokens, which would be refused", async () => {
    const owner = await credit.ownerWith(1_000_000_000n);
    credit.setAnswer(answerWith(5));
    const respond = async () => {
      const headers = { authorization: `Bearer ${owner.key}`, "content-type": "application/json" };
      const body = JSON.stringify({ model: "acme/chat", input: "hi", store: false });
      expect((await fetch(`${credit.baseUrl}/v1/responses`, { method: "POST", headers, body })).status).toBe(
        200,
      );
      return credit.upstream.received.at(-1)?.body;
    };
    expect(await respond()).not.toHaveProperty("max_tokens");
    await credit.reconcile();
  });

  it("that covers a request whose maximum cost is beyond all measure only in part pays for that part", async () => {
    const owner = await credit.ownerWith(10_000n * 1_000_000_000n);
    credit.setAnswer(answerWith(50));
    const longest = { model: "acme/dear", max_tokens: 1_000_000_000 };
    expect((await credit.chat(owner.key, { ...longest, n: 128 })).status).toBe(402);
    expect((await credit.chat(owner.key, longest)).status).toBe(200);
    expect(credit.upstream.received.at(-1)?.body.max_tokens).toBe(100);
    await expect.poll(() => balanceOf(owner)).toBe(5_000_000_050_000n);
    await credit.reconcile();
  });

  it("is charged for all that a request cost, even beyond its hold", async () => {
    const owner = await credit.ownerWith(10_000_000_000n);
    for (const [tokens, promptTokens] of [
      [2_000, 10],
      [100, 7_000],
    ] as const) {
      const before = await balanceOf(owner);
      credit.setAnswer(answerWith(tokens, promptTokens));
      expect((await credit.chat(owner.key, { model: "acme/chat" })).status).toBe(200);
      expect(await balanceOf(owner)).toBe(before - BigInt(promptTokens) * 1_000n - BigInt(tokens) * 10_000n);
    }
    const { entries } = await owner.trpc.credits.ledger.query();
    expect(entries.filter(({ kind }) => kind === "uncollected")).toEqual([]);
    await credit.reconcile();
  });

  it("that does not cover a request is charged to zero, and the rest is recorded as uncollected", async () => {
    const before = await credit.uncollected("beyond_hold");
    const owner = await credit.ownerWith(2n * OUTPUT_NANO_USD);
    credit.setAnswer(answerWith(1_000));
    expect((await credit.chat(owner.key)).status).toBe(200);
    expect(await balanceOf(owner)).toBe(0n);
    const { entries } = await owner.trpc.credits.ledger.query();
    expect(entries).toMatchObject([
      { kind: "uncollected", reason: "beyond_hold", amountNanoUsd: 8n * OUTPUT_NANO_USD },
      { kind: "charge", amountNanoUsd: -10n * OUTPUT_NANO_USD },
      { kind: "grant" },
    ]);
    expect((await credit.chat(owner.key)).status).toBe(402);
    expect((await credit.uncollected("beyond_hold")) - before).toBeCloseTo(0.008, 9);
    const { uncollected: sums } = await credit.operator.trpc.operator.checkBooks.query();
    expect(sums.find(({ reason }) => reason === "beyond_hold")?.nanoUsd).toBeGreaterThanOrEqual(
      8n * OUTPUT_NANO_USD,
    );
    await credit.reconcile();
  });

  it("leaves the limit on tokens to other models after an upstream has reported impossible usage", async () => {
    const owner = await credit.ownerWith(1_000_000_000_000n);
    const limits = { tokensPerMinute: 100_000 };
    await credit.operator.trpc.operator.accounts.setLimits.mutate({ id: owner.accountId, limits });
    credit.setAnswer(answerWith(999_999_999, 999_999_999));
    expect((await credit.chat(owner.key, { model: "acme/chat" })).status).toBe(200);
    const { used } = await owner.trpc.account.limits.query();
    // As long as its context, both the prompt and the answer.
    expect(used.tokens).toBe(2 * 8_192);
    expect((await credit.chat(owner.key, { model: "acme/chat" })).status).toBe(200);
  });

  it("is neither drained nor refunded by an upstream that reports impossible usage", async () => {
    const owner = await credit.ownerWith(1_000_000_000_000n);
    credit.setAnswer(answerWith(999_999_999, 999_999_999));
    expect((await credit.chat(owner.key, { model: "acme/chat" })).status).toBe(200);
    // As long as its context, both the prompt and the answer.
    const believed = 8_192n * 1_000n + 8_192n * 10_000n;
    expect(await balanceOf(owner)).toBe(1_000_000_000_000n - believed);
    const atMost = 1_000_000_000n;
    expect((await owner.trpc.credits.ledger.query()).entries).toMatchObject([
      { kind: "uncollected", reason: "implausible", amountNanoUsd: atMost },
      { kind: "charge", amountNanoUsd: -(believed + atMost) },
      { kind: "grant" },
    ]);
    const [entry] = (await owner.trpc.audit.list.query({ limit: 1 })).entries;
    expect(entry?.costNanoUsd).toBe(believed);
    const left = await balanceOf(owner);
    for (const tokens of [-1_000_000, 0.5, Number.NaN]) {
      credit.setAnswer(answerWith(tokens));
      expect((await credit.chat(owner.key)).status).toBe(200);
    }
    // Estimated instead: the one token of the answer. JSON has no NaN: what it says is null.
    expect(await balanceOf(owner)).toBe(left - 3n * 10_000n);
    await credit.reconcile();
  });

  it("is charged for an estimate where an upstream reports 0 tokens of a prompt or an answer", async () => {
    const owner = await credit.ownerWith(1_000_000_000n);
    for (const [completionTokens, promptTokens, charged] of [
      [0, 500, 500n * 1_000n + 10_000n],
      // The message has a role and one word, and 4 tokens of delimiters are counted.
      [40, 0, 6n * 1_000n + 40n * 10_000n],
    ] as const) {
      const before = await balanceOf(owner);
      credit.setAnswer(answerWith(completionTokens, promptTokens));
      expect((await credit.chat(owner.key, { model: "acme/chat" })).status).toBe(200);
      expect(await balanceOf(owner)).toBe(before - charged);
      const [entry] = (await owner.trpc.audit.list.query({ limit: 1 })).entries;
      expect(entry).toMatchObject({ usageSource: "estimated", costNanoUsd: charged });
    }
    await credit.reconcile();
  });

  it("is withdrawn by an operator only as far as the balance reaches", async () => {
    const owner = await credit.ownerWith(3n * OUTPUT_NANO_USD);
    credit.setAnswer(answerWith(100));
    expect((await credit.chat(owner.key)).status).toBe(200);
    const taken = await credit.operator.trpc.operator.accounts.grantCredits.mutate({
      id: owner.accountId,
      amountNanoUsd: -5n * OUTPUT_NANO_USD,
      reason: "mistaken grant",
    });
    expect(taken).toEqual({ balanceNanoUsd: 0n, amountNanoUsd: -2n * OUTPUT_NANO_USD });
    await expect(credit.grant(owner.accountId, -1n)).rejects.toMatchObject({
      data: { ostiary: { code: "conflict" } },
    });
    expect((await credit.chat(owner.key)).status).toBe(402);
    await credit.reconcile();
  });

  it("is not charged for failures, and is charged for what was sent before the client left", async () => {
    const owner = await credit.ownerWith(10n * OUTPUT_NANO_USD);
    credit.setAnswer(({ response }) => void response.writeHead(500).end("{}"));
    expect((await credit.chat(owner.key)).status).toBe(502);
    expect(await balanceOf(owner)).toBe(10n * OUTPUT_NANO_USD);
    credit.setAnswer(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: "one two three four five" }));
    });
    const abort = new AbortController();
    const response = await credit.chat(owner.key, { stream: true }, { signal: abort.signal });
    await response.body?.getReader().read();
    abort.abort();
    await expect.poll(() => balanceOf(owner)).toBe(10n * OUTPUT_NANO_USD - 5n * 10_000n);
    // The hold is settled: all the rest can be spent by one request.
    credit.setAnswer(answerWith(990));
    await expect.poll(async () => (await credit.chat(owner.key, { max_tokens: 994 })).status).toBe(200);
    await credit.reconcile();
  });

  it("is held for the maximum cost by any server's reading of a request", async () => {
    const owner = await credit.ownerWith(10_000_000_000n);
    credit.setAnswer((request) => {
      const { max_tokens: one, max_completion_tokens: other } = request.body;
      const most = Math.max(Number(one ?? 0), Number(other ?? 0));
      answerWith(most)(request);
    });
    const costs: bigint[] = [];
    for (const fields of [
      { max_completion_tokens: 1, max_tokens: 500 },
      { max_completion_tokens: 500, max_tokens: 1 },
    ]) {
      expect((await credit.chat(owner.key, { ...fields, model: "acme/output" })).status).toBe(200);
      const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
      costs.push(entries[0]?.costNanoUsd ?? 0n);
    }
    expect(costs).toEqual([500n * 10_000n, 500n * 10_000n]);
    for (const fields of [
      { max_tokens: 0 },
      { Max_Tokens: 90_000 },
      { N: 100 },
      { Model: "acme/chat" },
      { "max_token\u017f": 9 },
    ]) {
      expect((await credit.chat(owner.key, fields)).status, JSON.stringify(fields)).toBe(400);
    }
  });

  it("is charged for images by URL, whose size the request does not tell", async () => {
    const owner = await credit.ownerWith(10_000_000_000n);
    credit.setAnswer(answerWith(1, 1_500));
    for (const part of [
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      { image_url: { url: "https://example.com/a.png" } },
    ]) {
      const messages = [{ role: "user", content: [part] }];
      expect((await credit.chat(owner.key, { model: "acme/chat", messages, max_tokens: 1 })).status).toBe(
        200,
      );
      const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
      expect(entries[0]?.costNanoUsd).toBe(1_500n * 1_000n + 10_000n);
    }
  });

  it.each([
    [
      "chat/completions",
      (text: object) => {
        const part = { type: "image_url", image_url: { url: "https://example.com/a.png" }, ...text };
        return { messages: [{ role: "user", content: [part] }], max_tokens: 16 };
      },
    ],
    [
      "responses",
      (text: object) => {
        const part = { type: "input_image", image_url: "https://example.com/a.png", ...text };
        return { input: [{ role: "user", content: [part] }], max_output_tokens: 16, store: false };
      },
    ],
  ])("holds credit for an image whose part has a text as well, at %s", async (path, bodyOf) => {
    // Enough for the bytes of the request and its answer.
    const owner = await credit.ownerWith(1_000_000n);
    for (const text of [{}, { text: "" }]) {
      const answer = await fetch(`${credit.baseUrl}/v1/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/chat", ...bodyOf(text) }),
      });
      expect(answer.status).toBe(402);
    }
  });
});

describe.skipIf(!isDistributed)("credit that several nodes spend", () => {
  it("is not overdrawn, and all of it stays available to every node", async () => {
    const { databaseUrl, env } = credit;
    const others = await Promise.all([1, 2, 3].map(() => startOperatedService({ env, databaseUrl })));
    const nodes = [credit, ...others];
    const owner = await credit.ownerWith(40n * OUTPUT_NANO_USD);
    credit.setAnswer(answerWith(100));
    const statuses = await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        const response = await credit.chat(owner.key, {}, { baseUrl: nodes[index % 4]?.baseUrl ?? "" });
        await response.arrayBuffer();
        return response.status;
      }),
    );
    const succeeded = statuses.filter((status) => status === 200).length;
    expect(succeeded).toBeGreaterThan(0);
    expect(succeeded).toBeLessThanOrEqual(40);
    // 503 where another node had what was left, and would have it back.
    expect(statuses.filter((status) => ![200, 402, 503].includes(status))).toEqual([]);
    await expect.poll(() => balanceOf(owner)).toBe(BigInt(40 - succeeded) * OUTPUT_NANO_USD);
    // What a node has set aside and does not need is there for another one.
    for (let number = succeeded; number < 40; number++) {
      const node = nodes[number % 4]?.baseUrl ?? "";
      await expect.poll(async () => (await credit.chat(owner.key, {}, { baseUrl: node })).status).toBe(200);
    }
    await expect.poll(() => balanceOf(owner)).toBe(0n);
    await expect.poll(async () => (await credit.chat(owner.key)).status).toBe(402);
    await credit.reconcile();
    for (const node of others) await node[Symbol.asyncDispose]();
  });
});
