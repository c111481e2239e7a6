import pino from "pino";
import { expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { Failure } from "../../server/src/errors/failure.ts";
import { FaultLog } from "../../server/src/errors/fault-log.ts";
import { parseNetworks } from "../../server/src/networks/networks.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { CrossOrigin } from "../../server/src/request/cross-origin.ts";
import type { Exchange } from "../../server/src/request/exchange.ts";
import { OperationTable } from "../../server/src/request/find-operation.ts";
import { RequestHandler } from "../../server/src/request/request-handler.ts";
import type { Services } from "../../server/src/request/services.ts";

const FULL = "018f3a5e-0000-7000-8000-00000000000a" as AccountId;

function operation(kind: string, method: string, path: string): Operation {
  const run = () => {
    throw new Error("nothing may be done for this request");
  };
  return { kind, method, path, auth: "key", read: run, run } as unknown as Operation;
}

/** Answers a request of an account whose entries fill the recorder. Returns the status, and how many entries it has left. */
async function answered(method: string, path: string) {
  const log = pino({ level: "silent" });
  const monotonicMs = () => 0;
  const outcome = { status: 0, entries: 0 };
  const account = { id: FULL, version: 1n };
  const key = { id: "018f3a5e-0000-7000-8000-00000000000b", keyId: "abcd", state: "active" };
  const requests = new RequestHandler({
    operations: new OperationTable([
      operation("query", "GET", "/v1/read"),
      operation("model", "POST", "/v1/ask"),
      operation("public", "GET", "/v1/open"),
    ]),
    access: { authenticate: () => ({ digest: "", snapshot: { account, key }, invalidations: 0 }) },
    overload: { refusalOnArrival: () => null, served: () => {}, isTurnLong: false },
    crossOrigin: new CrossOrigin([]),
    recorder: {
      requireCapacity: () => {},
      requireCapacityFor: (id: AccountId) => {
        if (id === FULL) throw new Failure("server_is_overloaded", "full", { retryAfterMs: 5_000 });
      },
      record: async () => {
        outcome.entries++;
        return { stored: null };
      },
    },
    security: { note: () => {} },
    trustedProxies: parseNetworks([]).networks,
    accessLog: null,
    log,
    faults: new FaultLog({ log, monotonicMs }),
    trace: () => {},
    newId: () => "018f3a5e-0000-7000-8000-000000000001" as EntryId,
    monotonicMs,
  } as unknown as Services);
  const exchange: Partial<Exchange> = {
    method,
    path,
    peer: "127.0.0.1",
    query: new URLSearchParams(),
    isClientGone: false,
    header: (name) => (name === "authorization" ? ["Bearer sk-key"] : []),
    onClientGone: () => {},
    respond: (status) => {
      outcome.status = status;
    },
  };
  await requests.handle(exchange as Exchange);
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
