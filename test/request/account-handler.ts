import pino from "pino";
import type { AdmittedRequest } from "../../server/src/admission/admissions.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { FaultLog } from "../../server/src/errors/fault-log.ts";
import { parseNetworks } from "../../server/src/networks/networks.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { CrossOrigin } from "../../server/src/request/cross-origin.ts";
import type { Exchange } from "../../server/src/request/exchange.ts";
import { OperationTable } from "../../server/src/request/find-operation.ts";
import { RequestHandler } from "../../server/src/request/request-handler.ts";
import type { Services } from "../../server/src/request/services.ts";

/** The account whose requests {@link handlerOf} handles. */
export const CALLER = "018f3a5e-0000-7000-8000-00000000000a" as AccountId;

const ACCOUNT = { id: CALLER, version: 1n };
const KEY = { id: "018f3a5e-0000-7000-8000-00000000000b", keyId: "abcd", state: "active" };

/**
 * Handles requests of an account, whose entries the recorder takes or refuses.
 *
 * @param admitted what its limits have admitted.
 * @param more further services, which requests for models use.
 */
export function handlerOf(
  operations: readonly Operation[],
  recorder: Partial<Services["recorder"]>,
  admitted: AdmittedRequest | null = null,
  more: object = {},
): RequestHandler {
  const log = pino({ level: "silent" });
  const monotonicMs = () => 0;
  const snapshot = { account: ACCOUNT, key: KEY };
  const allow = async () => ({ snapshot, wouldRefuse: null, admitted });
  return new RequestHandler({
    operations: new OperationTable(operations),
    access: {
      authenticate: () => ({ digest: "", snapshot, invalidations: 0 }),
      authorize: allow,
      authorizeAndAdmit: allow,
      seemsRefused: () => false,
      limitsOf: () => ({ concurrentRequests: null }),
    },
    overload: { refusalOnArrival: () => null, served: () => {}, isTurnLong: false },
    crossOrigin: new CrossOrigin([]),
    recorder: { requireCapacity: () => {}, recordLater: () => {}, ...recorder },
    security: { note: () => {} },
    trustedProxies: parseNetworks([]).networks,
    accessLog: null,
    log,
    faults: new FaultLog({ log, monotonicMs }),
    trace: () => {},
    newId: () => "018f3a5e-0000-7000-8000-000000000001" as EntryId,
    monotonicMs,
    ...more,
  } as unknown as Services);
}

/** A request of the account, and what becomes of its answer. */
export function exchangeOf(method: string, path: string, answers: Partial<Exchange>): Exchange {
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
