import { describe, expect, it } from "vitest";
import { type Answer, extended, NO_ANSWER } from "../../dashboard-ui/src/pages/playground/answer.ts";
import { keyFor, keysInRotation } from "../../dashboard-ui/src/pages/playground/choose-key.ts";
import { failureOf } from "../../dashboard-ui/src/pages/playground/failure.ts";
import { APIConnectionError, errorFor, StreamInterruptedError } from "../../sdk/src/session.ts";

describe("an answer", () => {
  /** What chunks with these deltas add up to. */
  function told(...deltas: readonly object[]): Answer {
    return deltas.reduce<Answer>((answer, delta) => extended(answer, { choices: [{ delta }] }), NO_ANSWER);
  }

  it("has its tool calls put together from their pieces, in their places", () => {
    const piece = (index: number, called: object) => ({ tool_calls: [{ index, function: called }] });
    const { calls } = told(
      piece(0, { name: "open", arguments: '{"do' }),
      piece(1, { name: "close", arguments: "" }),
      piece(0, { arguments: 'or":1}' }),
      piece(1, { arguments: "{}" }),
    );
    expect(calls).toEqual([
      { name: "open", arguments: '{"door":1}' },
      { name: "close", arguments: "{}" },
    ]);
    expect(told(piece(4_000_000_000, { name: "far", arguments: "{}" })).calls).toHaveLength(1);
  });

  it("has its reasoning apart from its text, by either name that servers have for it", () => {
    expect(told({ reasoning_content: "Hm. " }, { reasoning: "So." }, { content: "Yes" })).toMatchObject({
      reasoning: "Hm. So.",
      text: "Yes",
    });
  });

  it("is read from a whole completion as from chunks, and passes over what nobody knows", () => {
    const completion = {
      choices: [{ message: { content: [{ type: "text", text: "Yes" }] }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
      vendor_extra: 1,
    };
    expect(extended(NO_ANSWER, completion)).toEqual({
      text: "Yes",
      reasoning: "",
      calls: [],
      finishReason: "stop",
      usage: { promptTokens: 3, completionTokens: 1 },
    });
    for (const odd of [
      null,
      1,
      [],
      {},
      { choices: null },
      { choices: [null] },
      { choices: [{ delta: 7 }] },
    ]) {
      expect(extended(NO_ANSWER, odd)).toEqual(NO_ANSWER);
    }
  });
});

describe("a failure", () => {
  const headers = new Headers({ "x-request-id": "req_1", "retry-after": "2" });

  it("of the service has its code, message, request ID and time to wait", () => {
    const error = { code: "rate_limit_exceeded", message: "Slow down.", type: "t", param: null };
    expect(failureOf(errorFor(429, { error }, headers), null)).toEqual({
      code: "rate_limit_exceeded",
      message: "Slow down.",
      requestId: "req_1",
      retryAfterMs: 2_000,
    });
  });

  it("that something else reported names the status, not that party's words", () => {
    expect(failureOf(errorFor(502, null, new Headers()), null)).toEqual({
      code: null,
      message: "Unexpected response (status 502). Check the proxy between you and the service.",
      requestId: null,
      retryAfterMs: null,
    });
  });

  it("of the connection says whether the service had begun to answer", () => {
    const unreachable = failureOf(new APIConnectionError("m"), null);
    expect(unreachable.message).toContain("can't be reached");
    const cut = "The connection was lost before the answer was complete. Try again.";
    expect(failureOf(new APIConnectionError("m"), "req_1")).toMatchObject({
      message: cut,
      requestId: "req_1",
    });
    expect(failureOf(new StreamInterruptedError("m", null), null).message).toBe(cut);
  });
});

describe("the key of the playground", () => {
  const plain = { id: "plain", rotation: null };
  const successor = { id: "new", rotation: null };
  const predecessor = { id: "old", rotation: { successorId: "new" } };

  it("is the newest that no rotation watches", () => {
    expect(keyFor([successor, predecessor, plain, { id: "older", rotation: null }], null)).toBe(plain);
    expect([...keysInRotation([successor, predecessor, plain])].sort()).toEqual(["new", "old"]);
  });

  it("is the chosen one while it is active, also in a rotation", () => {
    expect(keyFor([successor, predecessor, plain], "old")).toBe(predecessor);
    expect(keyFor([plain], "revoked")).toBe(plain);
  });

  it("has to be chosen when a rotation watches every key", () => {
    expect(keyFor([successor, predecessor], null)).toBeUndefined();
    expect(keyFor([], null)).toBeUndefined();
  });
});
