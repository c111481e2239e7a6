import { describe, expect, it } from "vitest";
import { Unavailable } from "../../server/src/errors/failure.ts";
import { upstreamFailure } from "../../server/src/gateway/upstream-failure.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { FREE_FACTS } from "../../server/src/operations/reply.ts";
import { TransportError } from "../../server/src/upstream/transport.ts";
import { exchangeOf, handlerOf } from "./account-handler.ts";

/** Answers a request with a stream that fails after its first chunk. @returns the end of its entry. */
async function endOf(thrown: Error) {
  const operation = {
    kind: "query",
    method: "GET",
    path: "/v1/export",
    auth: "key",
    read: () => ({}),
    run: async () => ({
      kind: "stream",
      headers: {},
      chunks: (async function* () {
        yield "chunk";
        throw thrown;
      })(),
      last: () => "last",
      controlEvents: null,
      facts: async () => FREE_FACTS,
      failureOf: upstreamFailure,
    }),
  };
  const entries: unknown[] = [];
  const requests = handlerOf([operation as unknown as Operation], {
    record: async ({ status, errorCode, endReason }) => {
      entries.push({ status, errorCode, endReason });
      return { stored: null };
    },
  });
  const stream = () => ({ write: () => null, end: async () => {}, abort: () => {} });
  await requests.handle(exchangeOf("GET", "/v1/export", { stream }));
  return entries;
}

describe("the entry of a stream that failed", () => {
  it("names the upstream as the cause only if it was", async () => {
    expect(await endOf(new Unavailable("the database does not answer"))).toEqual([
      { status: 200, errorCode: "server_is_overloaded", endReason: "refused" },
    ]);
    expect(await endOf(new Error("a fault"))).toEqual([
      { status: 200, errorCode: "internal_error", endReason: "refused" },
    ]);
    expect(await endOf(new TransportError("cut", "the upstream has closed the connection"))).toEqual([
      { status: 200, errorCode: "upstream_error", endReason: "upstream_error" },
    ]);
    expect(await endOf(new TransportError("timeout", "the upstream takes too long"))).toEqual([
      { status: 200, errorCode: "upstream_timeout", endReason: "timeout" },
    ]);
  });
});
