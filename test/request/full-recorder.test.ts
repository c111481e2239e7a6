import pino from "pino";
import { expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { Failure, toFailure } from "../../server/src/errors/failure.ts";
import { FaultLog } from "../../server/src/errors/fault-log.ts";
import { parseNetworks } from "../../server/src/networks/networks.ts";
import { FREE_FACTS, type Operation, type StreamReply } from "../../server/src/operations/operation.ts";
import { CrossOrigin } from "../../server/src/request/cross-origin.ts";
import type { Exchange } from "../../server/src/request/exchange.ts";
import { OperationTable } from "../../server/src/request/find-operation.ts";
import { RequestHandler } from "../../server/src/request/request-handler.ts";
import type { Services } from "../../server/src/request/services.ts";

type Recorded = Awaited<ReturnType<Services["recorder"]["record"]>>;

const FULL = "018f3a5e-0000-7000-8000-00000000000a" as AccountId;

function operation(kind: string, method: string, path: string): Operation {
  const run = () => {
    throw new Error("nothing may be done for this request");
  };
  return { kind, method, path, auth: "key", read: run, run } as unknown as Operation;
}

const ACCOUNT = { id: FULL, version: 1n };
const KEY = { id: "018f3a5e-0000-7000-8000-00000000000b", keyId: "abcd", state: "active" };

/** Handles requests of an account, whose entries the recorder takes or refuses. */
function handlerOf(
  operations: readonly Operation[],
  recorder: Partial<Services["recorder"]>,
): RequestHandler {
  const log = pino({ level: "silent" });
  const monotonicMs = () => 0;
  const snapshot = { account: ACCOUNT, key: KEY };
  return new RequestHandler({
    operations: new OperationTable(operations),
    access: {
      authenticate: () => ({ digest: "", snapshot, invalidations: 0 }),
      authorize: async () => ({ snapshot, wouldRefuse: null, admitted: null }),
    },
    overload: { refusalOnArrival: () => null, served: () => {}, isTurnLong: false },
    crossOrigin: new CrossOrigin([]),
    recorder: { requireCapacity: () => {}, requireCapacityFor: () => {}, ...recorder },
    security: { note: () => {} },
    trustedProxies: parseNetworks([]).networks,
    accessLog: null,
    log,
    faults: new FaultLog({ log, monotonicMs }),
    trace: () => {},
    newId: () => "018f3a5e-0000-7000-8000-000000000001" as EntryId,
    monotonicMs,
  } as unknown as Services);
}

function exchangeOf(method: string, path: string, answers: Partial<Exchange>): Exchange {
  const exchange: Partial<Exchange> = {
    method,
    path,
    peer: "127.0.0.1",
    query: new URLSearchParams(),
    isClientGone: false,
    header: (name) => (name === "authorization" ? ["Bearer sk-key"] : []),
    onClientGone: () => {},
    ...answers,
  };
  return exchange as Exchange;
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
    requireCapacityFor: (id: AccountId) => {
      if (id === FULL) throw new Failure("server_is_overloaded", "full", { retryAfterMs: 5_000 });
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
