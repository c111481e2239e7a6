import OpenAI, { RateLimitError } from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { outcomeOf, sendChat } from "../fixtures/request.ts";
import { runToExit } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

const service = sharedByFile(() =>
  startOperatedService({
    env: {
      OSTIARY_PLANS: JSON.stringify({
        free: { requestsPerMinute: 20, tokensPerMinute: null, concurrentRequests: null },
        pro: { requestsPerMinute: null, tokensPerMinute: 1_000, concurrentRequests: null },
        enterprise: { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: 2 },
      }),
    },
  }),
);
let operator: Visitor;

beforeAll(async () => {
  operator = await signInOperator(service.baseUrl);
});

async function ownerOn(plan: "free" | "pro" | "enterprise") {
  const owner = await signUpWithKey(service.baseUrl);
  const { id } = await owner.trpc.account.get.query();
  if (plan !== "free") await operator.trpc.operator.accounts.setPlan.mutate({ id, plan });
  return { ...owner, accountId: id };
}

function chat(
  key: string,
  content = "hi",
  {
    signal,
    idempotencyKey,
    ...more
  }: {
    signal?: AbortSignal;
    idempotencyKey?: string;
    max_tokens?: number;
    n?: number;
    stream?: boolean;
  } = {},
): Promise<Response> {
  const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
  const fields = { messages: [{ role: "user", content }], ...more };
  return sendChat(service.baseUrl, key, fields, { headers, signal });
}

async function statuses(count: number, key: string): Promise<Record<number, number>> {
  const found: Record<number, number> = {};
  const one = async () => {
    const response = await chat(key);
    await response.arrayBuffer();
    found[response.status] = (found[response.status] ?? 0) + 1;
  };
  await Promise.all(Array.from({ length: count }, one));
  return found;
}

describe("a limit on requests per minute", () => {
  it("admits exactly as many, with whichever keys of the account they come", async () => {
    const owner = await ownerOn("free");
    const { key: second } = await owner.trpc.keys.create.mutate({ name: "second" });
    const [first, others] = await Promise.all([statuses(60, owner.key), statuses(60, second)]);
    expect((first[200] ?? 0) + (others[200] ?? 0)).toBe(20);
    expect((first[429] ?? 0) + (others[429] ?? 0)).toBe(100);
  });

  it("is reported with every answer, and a refusal says how long to wait", async () => {
    const { key, trpc } = await ownerOn("free");
    const first = await chat(key);
    expect(first.headers.get("x-ratelimit-limit-requests")).toBe("20");
    expect(first.headers.get("x-ratelimit-remaining-requests")).toBe("19");
    expect(first.headers.get("x-ratelimit-reset-requests")).toMatch(/^(1m[01]s|\d+s)$/);
    expect(first.headers.has("x-ratelimit-limit-tokens")).toBe(false);
    await first.arrayBuffer();
    await statuses(19, key);
    const refused = await chat(key);
    expect(refused.status).toBe(429);
    const { error } = await refused.json();
    expect(error).toMatchObject({ type: "rate_limit_error", code: "rate_limit_exceeded", param: null });
    // Clients take some words for a matter of money, which no waiting mends.
    expect(error.message).not.toMatch(/quota|billing|credit|balance/i);
    expect(refused.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThanOrEqual(1);
    // OpenAI's library and the AI SDK ignore a wait of a minute.
    expect(seconds).toBeLessThanOrEqual(59);
    const milliseconds = Number(refused.headers.get("retry-after-ms"));
    expect(milliseconds).toBeGreaterThan(0);
    expect(milliseconds).toBeLessThanOrEqual(59_000);
    expect(error.message).toContain(`Retry in ${seconds} s.`);
    const { entries } = await trpc.audit.list.query();
    expect(entries[0]).toMatchObject({ status: 429, errorCode: "rate_limit_exceeded", endReason: "refused" });
  });

  it("does not count requests that use no model or are not authorized", async () => {
    const { key, accountId, trpc } = await ownerOn("free");
    for (let number = 0; number < 30; number++) {
      expect((await outcomeOf(service.baseUrl, key)).status).toBe(200);
    }
    await operator.trpc.operator.accounts.suspend.mutate({ id: accountId, reason: "x" });
    expect(await statuses(30, key)).toEqual({ 403: 30 });
    await operator.trpc.operator.accounts.reinstate.mutate({ id: accountId });
    expect(await statuses(25, key)).toEqual({ 200: 20, 429: 5 });
    expect((await trpc.account.get.query()).limitsInForce.requestsPerMinute).toBe(20);
  });

  it("of an account is in force once the operator's call is answered", async () => {
    const { key, accountId } = await ownerOn("free");
    const limits = { requestsPerMinute: 3, tokensPerMinute: null, concurrentRequests: null };
    await operator.trpc.operator.accounts.setLimits.mutate({ id: accountId, limits });
    expect(await statuses(10, key)).toEqual({ 200: 3, 429: 7 });
    await operator.trpc.operator.accounts.setLimits.mutate({
      id: accountId,
      limits: { ...limits, requestsPerMinute: 5 },
    });
    expect(await statuses(10, key)).toEqual({ 200: 2, 429: 8 });
    const zero = operator.trpc.operator.accounts.setLimits.mutate({
      id: accountId,
      limits: { ...limits, requestsPerMinute: 0 },
    });
    expect((await refusalOf(zero)).code).toBe("invalid_request");
  });

  it("of an account stays as it is when another one is set, also at the same time", async () => {
    const { accountId } = await ownerOn("free");
    const { setLimits, get } = operator.trpc.operator.accounts;
    await Promise.all([
      setLimits.mutate({ id: accountId, limits: { requestsPerMinute: 3 } }),
      setLimits.mutate({ id: accountId, limits: { tokensPerMinute: 1_000 } }),
      setLimits.mutate({ id: accountId, limits: { concurrentRequests: 2 } }),
    ]);
    const limits = { requestsPerMinute: 3, tokensPerMinute: 1_000, concurrentRequests: 2 };
    expect((await get.query({ id: accountId })).limits).toEqual(limits);
    await setLimits.mutate({ id: accountId, limits: { tokensPerMinute: null } });
    expect((await get.query({ id: accountId })).limits).toEqual({ ...limits, tokensPerMinute: null });
  });

  it("is a RateLimitError to an OpenAI client", async () => {
    const { key } = await ownerOn("free");
    await statuses(20, key);
    const client = new OpenAI({ apiKey: key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
    const call = client.chat.completions.create({
      model: "sandbox/echo",
      messages: [{ role: "user", content: "hi" }],
    });
    await expect(call).rejects.toBeInstanceOf(RateLimitError);
  });
});

describe("a limit on tokens per minute", () => {
  it("counts the estimate first, and the real number after the answer", async () => {
    const { key } = await ownerOn("pro");
    const first = await chat(key, "hi", { max_tokens: 900 });
    const { usage } = await first.json();
    expect(first.status).toBe(200);
    expect(Number(first.headers.get("x-ratelimit-remaining-tokens"))).toBeLessThan(100);
    const second = await chat(key, "hi", { max_tokens: 1 });
    await second.arrayBuffer();
    // The 900 were not used: they are free again when the answer has ended.
    expect(Number(second.headers.get("x-ratelimit-remaining-tokens"))).toBeGreaterThan(
      900 - usage.total_tokens,
    );
    const third = await chat(key, "x".repeat(4_000));
    expect(third.status).toBe(429);
    expect((await third.json()).error.message).toContain("tokens per minute");
  });

  // Otherwise clients that retry while an upstream is down would use up the limit, and get nothing for it.
  it.each([
    ["refuses", "sandbox:error 503", {}, 503],
    ["refuses to stream", "sandbox:error 503", { stream: true }, 503],
    ["has no time for", "sandbox:error 429", {}, 429],
    ["breaks off", "sandbox:cut", {}, 502],
  ])("counts nothing for answers that an upstream %s", async (_what, content, fields, status) => {
    const { key } = await ownerOn("pro");
    for (let number = 0; number < 3; number++) {
      const failed = await chat(key, content, { max_tokens: 800, ...fields });
      await failed.arrayBuffer();
      expect(failed.status).toBe(status);
    }
    const last = await chat(key, "hi", { max_tokens: 1 });
    await last.arrayBuffer();
    expect(last.status).toBe(200);
    expect(Number(last.headers.get("x-ratelimit-remaining-tokens"))).toBeGreaterThan(900);
  });

  it("counts the prompt of a large request whose upstream fails, but not the answer that it did not give", async () => {
    const { key, accountId } = await ownerOn("pro");
    const limits = { requestsPerMinute: null, tokensPerMinute: 100_000, concurrentRequests: null };
    await operator.trpc.operator.accounts.setLimits.mutate({ id: accountId, limits });
    const messages = [
      { role: "user", content: "x".repeat(80_000) },
      { role: "assistant", content: "Go on." },
      { role: "user", content: "sandbox:error 503" },
    ];
    const failed = await sendChat(service.baseUrl, key, { messages, max_tokens: 50_000 });
    await failed.arrayBuffer();
    expect(failed.status).toBe(503);
    const last = await chat(key, "hi", { max_tokens: 1 });
    await last.arrayBuffer();
    const remaining = Number(last.headers.get("x-ratelimit-remaining-tokens"));
    expect(remaining).toBeGreaterThan(79_000);
    expect(remaining).toBeLessThan(80_000);
  });

  it("admits a request that is estimated to take more than all of it only if nothing was used", async () => {
    const { key } = await ownerOn("pro");
    const large = await chat(key, "hi", { max_tokens: 5_000 });
    await large.arrayBuffer();
    expect([large.status, large.headers.get("x-ratelimit-remaining-tokens")]).toEqual([200, "0"]);
    expect((await chat(key, "hi", { max_tokens: 5_000 })).status).toBe(429);
  });

  it("counts a maximum that is written as a number of many digits", async () => {
    const { key } = await ownerOn("pro");
    const digits = `900${"0".repeat(40)}e-40`;
    const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: `{"model":"sandbox/echo","max_tokens":${digits},"messages":[{"role":"user","content":"hi"}]}`,
    });
    await response.arrayBuffer();
    expect(response.status).toBe(200);
    expect(Number(response.headers.get("x-ratelimit-remaining-tokens"))).toBeLessThan(100);
  });

  it("counts the maximum of each of several answers", async () => {
    const { key } = await ownerOn("pro");
    const response = await chat(key, "hi", { max_tokens: 100, n: 8 });
    await response.arrayBuffer();
    expect(response.status).toBe(200);
    const remaining = Number(response.headers.get("x-ratelimit-remaining-tokens"));
    expect(remaining).toBeGreaterThan(100);
    expect(remaining).toBeLessThan(200);
  });
});

describe("a limit on tokens per minute, where no model is asked,", () => {
  /** Asks for the number of tokens of some text, whose estimate is 400 tokens. */
  function countTokens(key: string): Promise<Response> {
    return fetch(`${service.baseUrl}/v1/messages/count_tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "sandbox/echo",
        messages: [{ role: "user", content: "x".repeat(1_600) }],
      }),
    });
  }

  /** How many tokens remain of 1,000 after requests with a key, which have estimates of hundreds of tokens each. */
  async function remainingAfter(send: (key: string) => Promise<Response>): Promise<number> {
    const { key } = await ownerOn("pro");
    for (let number = 0; number < 3; number++) {
      const response = await send(key);
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    }
    const last = await chat(key, "hi", { max_tokens: 1 });
    await last.arrayBuffer();
    return Number(last.headers.get("x-ratelimit-remaining-tokens"));
  }

  it("counts nothing for tokens that are counted", async () => {
    expect(await remainingAfter(countTokens)).toBeGreaterThan(900);
  });

  it("does not keep tokens from being counted once it is reached", async () => {
    const { key } = await ownerOn("pro");
    // Text of short words has more tokens than its estimate, so that more than the limit is used.
    const used = await chat(key, "a ".repeat(900));
    expect((await used.json()).usage.total_tokens).toBeGreaterThan(1_000);
    expect((await chat(key)).status).toBe(429);
    const counted = await countTokens(key);
    expect(counted.status).toBe(200);
    expect(await counted.json()).toEqual({ input_tokens: expect.any(Number) });
  });

  it("counts nothing for an answer that is repeated", async () => {
    const remaining = await remainingAfter((key) =>
      chat(key, "hi", { max_tokens: 400, idempotencyKey: "once" }),
    );
    expect(remaining).toBeGreaterThan(900);
  });
});

describe("a limit on concurrent requests", () => {
  it("has its own error, and frees a slot when an answer has ended", async () => {
    const { key } = await ownerOn("enterprise");
    const abort = new AbortController();
    const slow = [1, 2].map(() =>
      chat(key, "sandbox:delay 20000", { signal: abort.signal }).catch(() => null),
    );
    await expect.poll(async () => (await chat(key)).status, { interval: 20 }).toBe(429);
    const refused = await chat(key);
    expect((await refused.json()).error.code).toBe("too_many_concurrent_requests");
    expect(refused.headers.get("retry-after")).toBe("1");
    // Clients that have gone no longer hold a concurrency slot.
    abort.abort();
    await Promise.all(slow);
    await expect.poll(async () => (await chat(key)).status).toBe(200);
    for (let number = 0; number < 50; number++) {
      const response = await chat(key, "one after the other", { stream: number % 2 === 0 });
      expect(response.status).toBe(200);
      await response.text();
    }
  });
});

describe("the use of an account's limits", () => {
  it("is reported with the limits in force, as requests start and end", async () => {
    const { key, accountId, trpc } = await ownerOn("free");
    const limits = { requestsPerMinute: 3, tokensPerMinute: 1_000, concurrentRequests: 2 };
    await operator.trpc.operator.accounts.setLimits.mutate({ id: accountId, limits });
    expect(await trpc.account.limits.query()).toEqual({
      limits,
      used: { requests: 0, tokens: 0, concurrent: 0 },
    });
    const first = await (await chat(key, "hi", { max_tokens: 500 })).json();
    const second = await (await chat(key, "hello again")).json();
    const tokens = first.usage.total_tokens + second.usage.total_tokens;
    expect(await trpc.account.limits.query()).toEqual({
      limits,
      used: { requests: 2, tokens, concurrent: 0 },
    });

    const abort = new AbortController();
    const slow = chat(key, "sandbox:delay 20000", {
      signal: abort.signal,
      stream: true,
      max_tokens: 100,
    }).catch(() => null);
    await expect
      .poll(async () => (await trpc.account.limits.query()).used, { interval: 20 })
      .toMatchObject({ requests: 3, concurrent: 1 });
    expect((await trpc.account.limits.query()).used.tokens).toBeGreaterThanOrEqual(tokens + 100);
    // The minute's are used up: what is refused takes nothing.
    expect(await statuses(5, key)).toEqual({ 429: 5 });
    const byKey = visit(service.baseUrl, { authorization: `Bearer ${key}` });
    expect((await byKey.trpc.account.limits.query()).used).toMatchObject({ requests: 3, concurrent: 1 });
    abort.abort();
    await slow;
    await expect
      .poll(async () => (await trpc.account.limits.query()).used)
      .toMatchObject({ requests: 3, concurrent: 0 });
  });

  it("is zero where there is no limit or no request", async () => {
    const { key, trpc } = await ownerOn("pro");
    await statuses(3, key);
    const { limits, used } = await trpc.account.limits.query();
    expect(limits).toEqual({ requestsPerMinute: null, tokensPerMinute: 1_000, concurrentRequests: null });
    expect(used).toMatchObject({ requests: 0, concurrent: 0 });
    expect(used.tokens).toBeGreaterThan(0);
    const other = await ownerOn("pro");
    expect((await other.trpc.account.limits.query()).used).toEqual({ requests: 0, tokens: 0, concurrent: 0 });
    const nobody = visit(service.baseUrl);
    expect((await refusalOf(nobody.trpc.account.limits.query())).code).toBe("not_signed_in");
  });
});

describe("an invalid configuration of plans", () => {
  it.each([
    [
      "{",
      /OSTIARY_PLANS: its JSON is not valid: line 1, column 2: the JSON ends too early: expected a name in double quotes/,
    ],
    ['{"free": sk-secret}', /its JSON is not valid: line 1, column 10: expected a value/],
    [
      "/no/such/file.json",
      /must be JSON that begins with \{, or the path of a JSON file: .*file\.json cannot be read: it does not exist/,
    ],
    ["a-secret-of-another-setting", /the file that it names cannot be read: it does not exist/],
    ['{"gold":{}}', /OSTIARY_PLANS: has an unknown field: gold/],
    ['{"free":{"requestsPerMinute":0}}', /OSTIARY_PLANS: free\.requestsPerMinute: must be at least 1\b/],
    ['{"free":{"requestsPerMinute":1.5}}', /free\.requestsPerMinute: must be a whole number/],
    ['{"free":{"requestsPerMonth":5}}', /free: has an unknown field: requestsPerMonth/],
    ['{"free":{"startingCreditsUsd":null}}', /free\.startingCreditsUsd: must be text or a number/],
  ])("prevents the service from starting: %s", async (plans, words) => {
    const { code, stderr } = await runToExit({ env: { OSTIARY_PLANS: plans } });
    expect(code).toBe(1);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain("sk-secret");
  });
});
