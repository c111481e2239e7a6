import { expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { Failure, toFailure } from "../../server/src/errors/failure.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { FREE_FACTS, type StreamReply } from "../../server/src/operations/reply.ts";
import type { Exchange } from "../../server/src/request/exchange.ts";
import type { Services } from "../../server/src/request/services.ts";
import { CALLER, exchangeOf, handlerOf } from "./account-handler.ts";

type Recorded = Awaited<ReturnType<Services["recorder"]["record"]>>;

function operation(kind: string, method: string, path: string): Operation {
  const run = () => {
    throw new Error("nothing may be done for this request");
  };
  return { kind, method, path, auth: "key", read: run, run } as unknown as Operation;
}

/** Answers a request of an account whose entries fill the recorder. Returns the status, and how many entries it has left. */
async function answered(method: string, path: string) {
  const outcome = { status: 0, entries: 0 };
  const operations = [
    operation("query", "GET", "/v1/read"),
    operation("model", "POST", "/v1/ask"),
    operation("public", "GET", "/v1/open"),
  ];
  const requests = handlerOf(operations, {
    requireCapacity: (id: AccountId | null = null) => {
      if (id === CALLER) throw new Failure("server_is_overloaded", "full", { retryAfterMs: 5_000 });
    },
    record: async () => {
      outcome.entries++;
      return { stored: null } as Recorded;
    },
  });
  const respond: Exchange["respond"] = (status) => {
    outcome.status = status;
  };
  await requests.handle(exchangeOf(method, path, { respond }));
  return outcome;
}

it.each([
  ["GET", "/v1/read"],
  ["POST", "/v1/ask"],
  ["GET", "/v1/open"],
  ["GET", "/v1/nothing"],
  ["POST", "/v1/read"],
])(
  "%s %s of an account whose entries fill the recorder is refused, and leaves no further entry",
  async (method, path) => {
    expect(await answered(method, path)).toEqual({ status: 503, entries: 0 });
  },
);

/** Streams an answer whose entry the recorder does not take. Returns what the client gets, and how that ends. */
async function streamedUnrecorded(controlEvents: StreamReply["controlEvents"]) {
  const sent: string[] = [];
  const reply: StreamReply = {
    kind: "stream",
    headers: {},
    chunks: (async function* () {
      yield "chunk ";
    })(),
    last: () => "complete",
    controlEvents,
    facts: async () => FREE_FACTS,
    failureOf: toFailure,
  };
  const read = {
    kind: "query",
    method: "GET",
    path: "/v1/read",
    auth: "key",
    read: () => ({}),
    run: async () => reply,
  };
  const requests = handlerOf([read as unknown as Operation], {
    record: async () => {
      throw new Failure("server_is_overloaded", "the disk is full");
    },
  });
  const stream: Exchange["stream"] = () => ({
    write: (chunk) => {
      sent.push(String(chunk));
      return null;
    },
    end: async () => void sent.push("end"),
    abort: () => void sent.push("abort"),
  });
  await requests.handle(exchangeOf("GET", "/v1/read", { stream }));
  return sent;
}

it("a stream that can't be recorded is not complete for its client: it ends with the failure, or is aborted", async () => {
  const failure = ({ message }: Failure) => message;
  const withEvents = await streamedUnrecorded({ heartbeat: () => "", failure });
  expect(withEvents).toEqual(["chunk ", "the disk is full", "end"]);
  expect(await streamedUnrecorded(null)).toEqual(["chunk ", "abort"]);
});
