import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import type { Visitor } from "../fixtures/user.ts";
import { type Bill, type GatedModel, LARGE_MODEL, startGatedModel } from "./gated-model.ts";
import { expectPaid, openAccount, WITHOUT_CREDIT } from "./money.ts";
import { ask, metricOf, statusesOf } from "./requests.ts";

const CREDIT = 100_000_000_000n;

let model: GatedModel;
let service: Service;
let operator: Visitor;

beforeAll(async () => {
  model = await startGatedModel();
  service = await startOperatedService({ env: { ...model.env, ...WITHOUT_CREDIT } });
  operator = await signInOperator(service.baseUrl);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
});

/** What the upstream bills, and the part of it that the model can have done. */
function costsOf({ prompt, completion }: Bill): { readonly billed: bigint; readonly possible: bigint } {
  const costOf = (promptTokens: number, completionTokens: number) =>
    BigInt(promptTokens) * 10_000n + BigInt(completionTokens) * 40_000n;
  const { contextTokens, maxOutputTokens } = LARGE_MODEL;
  return {
    billed: costOf(prompt, completion),
    possible: costOf(Math.min(prompt, contextTokens), Math.min(completion, maxOutputTokens)),
  };
}

interface Case {
  readonly content?: unknown;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly bill: Bill;
}

const image = [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }];
const file = [{ type: "file", file: { file_id: "file-1" } }];

const CASES: Readonly<Record<string, Case>> = {
  "an image that is given by its address": {
    content: image,
    more: { max_tokens: 20 },
    bill: { prompt: 1_105, completion: 20 },
  },
  "a large image": { content: image, more: { max_tokens: 20 }, bill: { prompt: 12_000, completion: 5 } },
  "an answer that is longer than was asked for": {
    more: { max_tokens: 50 },
    bill: { prompt: 20, completion: 500 },
  },
  "a stream that is longer than was asked for": {
    more: { max_tokens: 50, stream: true },
    bill: { prompt: 20, completion: 500 },
  },
  "a prompt that the upstream adds to": {
    more: { max_tokens: 10 },
    bill: { prompt: 1_500, completion: 10 },
  },
  "an answer that is longer than the model can give": { bill: { prompt: 20, completion: 20_000 } },
  "a file that is larger than the model can read": {
    content: file,
    bill: { prompt: 150_000, completion: 5 },
  },
};

describe("a request that costs more than was held for it", () => {
  it.each(Object.entries(CASES))(
    "is charged in full where there is credit: %s",
    async (_, { content, more, bill }) => {
      const account = await openAccount(operator, CREDIT);
      model.bill = bill;
      const messages = [{ role: "user", content: content ?? "hi" }];
      const outcome = await ask(service.baseUrl, account.key, {
        body: { model: LARGE_MODEL.id, messages, ...more },
      });
      expect(outcome.status).toBe(200);
      const { cost, uncollected, implausible } = await expectPaid(operator, account, [outcome]);
      const { billed, possible } = costsOf(bill);
      // The account does not pay for what the model can't have done.
      expect({ cost, uncollected, implausible }).toEqual({
        cost: possible,
        uncollected: 0n,
        implausible: billed - possible,
      });
    },
  );

  it("is charged as far as credit reaches, and the rest is recorded and counted as uncollected", async () => {
    // Enough for what one request holds, and too little for what is billed.
    const account = await openAccount(operator, 5_000_000n);
    model.bill = { prompt: 20, completion: 500 };
    const asked = { body: { model: LARGE_MODEL.id, max_tokens: 50 } };
    const before = (await metricOf(service.baseUrl, /^ostiary_uncollected_usd_total$/)) ?? 0;
    const outcome = await ask(service.baseUrl, account.key, asked);
    expect(outcome.status).toBe(200);
    const { balance, cost, uncollected } = await expectPaid(operator, account, [outcome]);
    expect({ balance, cost, uncollected }).toEqual({
      balance: 0n,
      cost: 20_200_000n,
      uncollected: 15_200_000n,
    });
    const after = (await metricOf(service.baseUrl, /^ostiary_uncollected_usd_total$/)) ?? 0;
    expect(after - before).toBeCloseTo(0.0152, 6);
    expect((await ask(service.baseUrl, account.key, asked)).status).toBe(402);
  });

  it("never overdraws the account, even with 100 concurrent requests", async () => {
    const account = await openAccount(operator, 80_000_000n);
    model.bill = { prompt: 20, completion: 4_000 };
    const asked = { body: { model: LARGE_MODEL.id, max_tokens: 50 } };
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () => ask(service.baseUrl, account.key, asked)),
    );
    expect(statusesOf(outcomes)).toEqual([200, 402]);
    const { balance, cost, uncollected } = await expectPaid(operator, account, outcomes);
    expect(balance).toBe(0n);
    expect(uncollected).toBe(cost - 80_000_000n);
  });
});
