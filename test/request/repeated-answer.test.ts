import { describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { toFailure } from "../../server/src/errors/failure.ts";
import { FREE_FACTS } from "../../server/src/operations/reply.ts";
import { claimOrReplay, keepAnswer } from "../../server/src/request/idempotent-reply.ts";
import type { RequestContext } from "../../server/src/request/request-context.ts";
import type { Services } from "../../server/src/request/services.ts";

const request = { exchange: { header: () => ["a-key"] }, operation: "POST /v1/messages" };
const services = {
  idempotency: {
    claim: async () => ({
      kind: "answered",
      answer: { isStream: true, model: "acme/chat", text: "data: [DONE]\n\n" },
    }),
  },
};

describe("a stream that is repeated for its idempotency key", () => {
  it("is sent whole, so that its request is recorded before its end, and answered 503 if it can't be", async () => {
    const reply = await claimOrReplay(
      request as unknown as RequestContext,
      { accountId: "account" as AccountId, key: "the-key", body: new Uint8Array() },
      services as unknown as Services,
    );
    expect(reply).toMatchObject({
      kind: "whole",
      headers: { "content-type": "text/event-stream; charset=utf-8", "idempotency-replayed": "true" },
      body: "data: [DONE]\n\n",
    });
  });
});

describe("a stream whose request has an idempotency key", () => {
  const chunksUntil = (failure: Error | null) =>
    (async function* () {
      yield "data: 1\n\n";
      if (failure !== null) throw failure;
    })();

  it.each([
    ["is kept with its end when it is complete", null, "data: 1\n\ndata: [DONE]\n\n"],
    ["is not kept when it fails, even if its client has left before", new Error("reset"), undefined],
  ])("%s", async (_, failure, text) => {
    const reply = keepAnswer({ claim: {} } as RequestContext, {
      kind: "stream",
      headers: {},
      chunks: chunksUntil(failure),
      last: () => "data: [DONE]\n\n",
      controlEvents: null,
      facts: async () => FREE_FACTS,
      failureOf: toFailure,
    });
    if (reply.kind !== "stream") throw new Error("not a stream");
    const sent: unknown[] = [];
    const sending = (async () => {
      for await (const chunk of reply.chunks) sent.push(chunk);
    })();
    await (failure === null ? sending : expect(sending).rejects.toBe(failure));
    expect(sent).toHaveLength(1);
    expect((await reply.facts()).kept?.text).toBe(text);
  });
});
