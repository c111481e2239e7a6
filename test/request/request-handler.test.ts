import pino from "pino";
import { expect, it } from "vitest";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { parseNetworks } from "../../server/src/networks/networks.ts";
import { CrossOrigin } from "../../server/src/request/cross-origin.ts";
import type { Exchange } from "../../server/src/request/exchange.ts";
import { OperationTable } from "../../server/src/request/find-operation.ts";
import { RequestHandler } from "../../server/src/request/request-handler.ts";
import type { Services } from "../../server/src/request/services.ts";

/** Whether the connection was closed. */
let isAbandoned = false;

/** A request for a path that is not served, on a runtime that can't send its answer. */
const UNANSWERABLE: Exchange = {
  method: "GET",
  path: "/v1/nothing",
  peer: "127.0.0.1",
  query: new URLSearchParams(),
  isClientGone: false,
  costOfAnswering: 1,
  header: () => [],
  onClientGone: () => {},
  receive: () => {},
  letOthersGoFirst: () => null,
  respond: () => {
    throw new Error("the answer can't be sent");
  },
  stream: () => {
    throw new Error("the answer can't be sent");
  },
  abandon: () => {
    isAbandoned = true;
  },
};

it("a request that can't be answered is logged, its connection closed, and the process goes on", async () => {
  const lines: string[] = [];
  // The parts that a request for an unserved path uses.
  const services = {
    operations: new OperationTable([]),
    overload: { arrived: () => null, served: () => {}, isTurnLong: false },
    crossOrigin: new CrossOrigin([]),
    recorder: { requireCapacity: () => {} },
    security: { note: () => {} },
    trustedProxies: parseNetworks([]).networks,
    accessLog: null,
    log: pino({ level: "error" }, { write: (line: string) => void lines.push(line) }),
    newId: () => "018f3a5e-0000-7000-8000-000000000001" as EntryId,
    monotonicMs: () => 0,
  } as unknown as Services;
  const requests = new RequestHandler(services);

  await requests.handle(UNANSWERABLE);

  expect(isAbandoned).toBe(true);
  expect(requests.inFlight).toBe(0);
  await requests.idle();
  expect(lines.join()).toContain("a request could not be answered");
});
