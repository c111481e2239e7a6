import { describe, expect, it } from "vitest";
import { BodyBudget, shareOut } from "../../server/src/admission/body-budget.ts";
import { Failure, toFailure } from "../../server/src/errors/failure.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { FREE_FACTS } from "../../server/src/operations/reply.ts";
import type { Exchange } from "../../server/src/request/exchange.ts";
import { exchangeOf, handlerOf } from "./account-handler.ts";

const MIB = 1024 * 1024;
const REPLIES = {
  whole: { kind: "whole", headers: {}, body: "{}", facts: FREE_FACTS },
  stream: {
    kind: "stream",
    headers: {},
    chunks: (async function* () {
      yield "chunk";
    })(),
    last: () => "last",
    controlEvents: null,
    facts: async () => FREE_FACTS,
    failureOf: toFailure,
  },
};

/**
 * Answers a request for a model, with an idempotency key and credit held for it, whose entry can't be recorded. `null`: the model fails. Returns what
 * happened, in order.
 */
async function unrecorded(kind: keyof typeof REPLIES | null): Promise<string[]> {
  const happened: string[] = [];
  const note = (what: string) => void happened.push(what);
  const model = {
    kind: "model",
    method: "POST",
    path: "/v1/ask",
    auth: "key",
    maxBodyBytes: MIB,
    outputTokenFields: [],
    read: () => ({ model: "acme/chat", maxTokens: 1, choices: 1, prompts: 1, images: 0, files: 0 }),
    run: async () => {
      if (kind === null) throw new Failure("upstream_error", "the model failed");
      return REPLIES[kind];
    },
  };
  const bodies = new BodyBudget(shareOut(16 * MIB, MIB));
  const requests = handlerOf(
    [model as unknown as Operation],
    {
      begin: () => ({ whenWritten: Promise.resolve(1), writtenIn: 1 }),
      record: async () => {
        throw new Failure("server_is_overloaded", "the disk is full");
      },
    },
    {
      rates: { requests: null, tokens: null },
      end: () => {
        if (!happened.includes("slot")) note("slot");
        return null;
      },
      cancel: () => null,
    },
    {
      bodies,
      turnShares: { begin: () => null },
      catalog: { find: () => ({ id: "acme/chat", prices: null, contextTokens: 1, maxOutputTokens: 1 }) },
      credits: {
        holdAtOnce: () => ({
          amountNanoUsd: 1n,
          spender: 1n,
          settle: (cost: bigint) => note(`settle ${cost}`),
        }),
      },
      idempotency: {
        claim: async () => ({
          kind: "claimed",
          claim: {
            id: "claim",
            answered: () => undefined,
            release: async () => {
              await Promise.resolve();
              note("claim");
            },
          },
        }),
      },
    },
  );
  const headers: Readonly<Record<string, string>> = {
    authorization: "Bearer sk-key",
    "content-type": "application/json",
    "idempotency-key": "once",
  };
  const exchange: Partial<Exchange> = {
    header: (name) => (headers[name] === undefined ? [] : [headers[name]]),
    receive: (body) => {
      body.add(new TextEncoder().encode('{"model":"acme/chat"}'));
      body.end();
    },
    letOthersGoFirst: () => null,
    respond: (status) => note(`respond ${status}`),
    stream: () => ({ write: () => null, end: async () => note("end"), abort: () => note("abort") }),
  };
  await requests.handle(exchangeOf("POST", "/v1/ask", exchange));
  expect(bodies.bytes).toBe(0);
  return happened;
}

describe("a request whose end can't be recorded is not charged, and may be sent again with its idempotency key:", () => {
  it.each([
    ["one that was answered", "whole"],
    ["one that has failed", null],
  ] as const)("%s frees the key before its client learns that it is refused", async (_, kind) => {
    expect(await unrecorded(kind)).toEqual(["slot", "claim", "respond 503", "settle 0"]);
  });

  it("one whose stream had begun", async () => {
    expect(await unrecorded("stream")).toEqual(["slot", "abort", "settle 0", "claim"]);
  });
});
