import { describe, expect, it } from "vitest";
import { answersMessage, startResponsesService } from "./responses-service.ts";

describe("an account with little credit", () => {
  const PLAN = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };
  const withCredit = (usd: string) => {
    const plan = { ...PLAN, startingCreditsUsd: usd };
    return startResponsesService({
      OSTIARY_PLANS: JSON.stringify({ free: plan, pro: plan, enterprise: plan }),
    });
  };

  it("gets as long an answer as it can pay for, and pays for the history that the model reads", async () => {
    // A byte of the prompt is held as a token of 2.50 USD per million: 40,000 bytes cost 0.10 USD.
    await using poor = await withCredit("0.15");
    poor.answers.chat = ({ body, response }) => {
      const usage = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
      const choices = [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }];
      expect(body.max_tokens).toBeLessThan(15_000);
      response.setHeader("content-type", "application/json").end(JSON.stringify({ choices, usage }));
    };
    const first = await poor.ask({ input: "a".repeat(40_000), max_output_tokens: 1_000_000 });
    expect(first.status).toBe("completed");
    expect(first.max_output_tokens).toBeGreaterThan(16);
    const second = await poor.ask({ input: "b".repeat(20_000), previous_response_id: first.id });
    expect(second.error).toMatchObject({ code: "credit_balance_exhausted" });
    const alone = await poor.ask({ input: "b".repeat(20_000), max_output_tokens: 1_000_000 });
    expect(alone.status).toBe("completed");
  });
});

describe("a service that stores no responses", () => {
  it("says so in each response, and refuses references clearly", async () => {
    await using storeless = await startResponsesService({ OSTIARY_RESPONSES_TTL_DAYS: "0" });
    storeless.answers.chat = answersMessage({ content: "two" });
    const response = await storeless.ask({ input: "one", store: true });
    expect(response.store).toBe(false);
    for (const body of [
      { input: "three", previous_response_id: response.id },
      { input: [{ type: "item_reference", id: response.output[0].id }] },
    ]) {
      const answer = await storeless.post(body);
      expect(answer.status).toBe(404);
      expect((await answer.json()).error.message).toMatch(/stores no/);
    }
  });
});
