import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BodyBudget, shareOut } from "../../server/src/admission/body-budget.ts";
import { BudgetedAnswerMemory } from "../../server/src/admission/budgeted-answer-memory.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { RequestAbort } from "../../server/src/errors/request-signal.ts";

const MIB = 1024 * 1024;

let budget: BodyBudget;

beforeEach(() => {
  // Half of an answer's bytes count. One account may have 70 MiB of answers, and all accounts 80 MiB.
  budget = new BodyBudget(shareOut(64 * MIB, 16 * MIB));
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const answerOf = (account = "one", signal = new RequestAbort(), bodyBytes = 0) => {
  const sender = budget.account(account as AccountId);
  sender.reserve(bodyBytes, bodyBytes);
  return new BudgetedAnswerMemory(sender, signal, { reservedBytes: bodyBytes });
};

describe("the bytes of an answer", () => {
  it("count for half until its request has ended, or another upstream is asked", () => {
    const answer = answerOf();
    answer.reserve(10 * MIB);
    answer.reserve(2 * MIB);
    expect(budget.bytes).toBe(6 * MIB);
    answer.reset();
    expect(budget.bytes).toBe(0);
    answer.reserve(MIB);
    answer.release();
    answer.release();
    expect(budget.bytes).toBe(0);
    answer.reserve(MIB);
    expect(budget.bytes).toBe(0);
  });

  it("do not count while they are few", () => {
    const answer = answerOf();
    answer.reserve(64 * 1024);
    expect(budget.bytes).toBe(0);
    answer.reserve(2);
    expect(budget.bytes).toBe(32 * 1024 + 1);
  });

  it("are refused when they can never be kept, without a wait", () => {
    expect(() => answerOf().reserveWhenFree(71 * MIB)).toThrow(
      expect.objectContaining({ code: "upstream_error", retryAfterMs: null }),
    );
    // Its own request takes as much as 20 MiB of it, and ends only when it is answered.
    const beside = answerOf("one", new RequestAbort(), 10 * MIB);
    expect(beside.reserveWhenFree(50 * MIB)).toBe(null);
    expect(() => beside.reserveWhenFree(MIB)).toThrow(
      expect.objectContaining({ code: "upstream_error", retryAfterMs: null }),
    );
    expect(budget.refusedAnswers.get("too_large")).toBe(2);
  });

  it("of one account leave room for others, and those of all accounts for bodies", () => {
    answerOf().reserve(60 * MIB);
    expect(() => answerOf().reserve(12 * MIB)).toThrow(
      expect.objectContaining({ code: "rate_limit_exceeded" }),
    );
    answerOf("two").reserve(18 * MIB);
    expect(() => answerOf("three").reserve(4 * MIB)).toThrow(
      expect.objectContaining({ code: "server_is_overloaded", retryAfterMs: 1_000 }),
    );
    expect(budget.refusedAnswers).toEqual(
      new Map([
        ["account_bytes", 1],
        ["process_bytes", 1],
        ["too_large", 0],
      ]),
    );
    expect(() => budget.account("three" as AccountId).reserve(16 * MIB, 16 * MIB)).not.toThrow();
  });

  it("wait for others to end, and are refused after five seconds", async () => {
    const [first, second, third] = [answerOf(), answerOf(), answerOf()];
    expect(first.reserveWhenFree(60 * MIB)).toBeNull();
    const waiting = second.reserveWhenFree(40 * MIB);
    first.release();
    await waiting;
    expect(budget.bytes).toBe(20 * MIB);
    const refused = expect(third.reserveWhenFree(40 * MIB)).rejects.toMatchObject({
      code: "rate_limit_exceeded",
    });
    await vi.advanceTimersByTimeAsync(5_000);
    await refused;
    expect(vi.getTimerCount()).toBe(0);
    second.release();
    expect(budget.bytes).toBe(0);
  });

  it("do not wait when their request is aborted", async () => {
    const signal = new RequestAbort();
    answerOf().reserve(60 * MIB);
    const waiting = answerOf("one", signal).reserveWhenFree(40 * MIB);
    signal.abort("client_gone");
    await waiting;
    expect(budget.bytes).toBe(30 * MIB);
    expect(budget.refusedAnswers.get("account_bytes")).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
