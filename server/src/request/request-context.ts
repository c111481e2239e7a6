import type { KeyCaller, Permission } from "../access/access.ts";
import type { BudgetedAnswerMemory } from "../admission/budgeted-answer-memory.ts";
import { type InFlightItem, NOT_IN_FLIGHT } from "../admission/in-flight.ts";
import type { IncomingBody } from "../admission/incoming-body.ts";
import type { EntryId } from "../contract/entry.ts";
import type { Hold } from "../credits/allowance.ts";
import type { CostBasis } from "../credits/request-cost.ts";
import type { ErrorCode } from "../errors/failure.ts";
import { RequestAbort } from "../errors/request-signal.ts";
import type { Claim } from "../idempotency/idempotency.ts";
import type { AppendedLine } from "../journal/journal-write.ts";
import { clientAddress } from "../networks/client-address.ts";
import type { Networks } from "../networks/networks.ts";
import type { Exchange } from "./exchange.ts";
import type { StreamWriter } from "./stream-writer.ts";

/** The state of one request, from its arrival to its end. `handleRequest` and the steps it calls write it. */
export class RequestContext implements InFlightItem {
  inFlightIndex = NOT_IN_FLIGHT;
  readonly id: EntryId;
  /** When the request came in, by the clock that never jumps. */
  readonly startedMs: number;
  readonly exchange: Exchange;
  /** The client's address; `null` where it can't be determined. */
  readonly sourceIp: string | null;
  /** Aborted when the answer is no longer needed: the client has disconnected, the request has ended, or the service stops. */
  readonly signal = new RequestAbort();
  /** The method and path of the operation, as audit entries name it; `null` before it is found. */
  endpoint: string | null = null;
  /** The key in whose log the request is recorded; `null` if there is none. */
  caller: KeyCaller | null = null;
  /** Proof that the caller was authorized and admitted; `null` before. Its slot is freed when the request ends. */
  permission: Permission | null = null;
  /** The code with which a rule in report mode would have refused the request, also if a limit has refused it. */
  wouldRefuse: ErrorCode | null = null;
  /** The body of a request with a key. Its bytes stay reserved until the request has ended, in part while its answer is streamed. */
  body: IncomingBody | null = null;
  /** The memory of its answer, reserved until the request has ended; `null` before it is sent to a model. */
  answerMemory: BudgetedAnswerMemory | null = null;
  /** The model that was asked for, for the entry of a request that fails. */
  model: string | null = null;
  /** What the cost of a request for a model is computed from; `null` before, and for other requests. */
  costBasis: CostBasis | null = null;
  /** The credit that is held for the request; `null` before, and for requests that cost nothing. */
  hold: Hold | null = null;
  /** The journal's line that the request has begun; `null` until it is to be sent to a model. */
  begun: AppendedLine | null = null;
  /** The idempotency key's claim. A request that has one runs to completion even if its client disconnects. */
  claim: Claim | null = null;
  /** What sends the streamed answer, and heartbeats in between; `null` without one. */
  stream: StreamWriter | null = null;
  /** The status that was sent; `null` before. */
  status: number | null = null;
  /** Whether the request's entry has been recorded, or the request gets none. */
  needsNoEntry = false;
  /** Whether the request was refused and has no key that exists or existed, so that it is in no account's log. */
  isWithoutKnownKey = false;

  constructor(exchange: Exchange, id: EntryId, startedMs: number, trustedProxies: Networks) {
    this.id = id;
    this.startedMs = startedMs;
    this.exchange = exchange;
    this.sourceIp = clientAddress(exchange.peer, exchange.header("x-forwarded-for"), trustedProxies);
    exchange.onClientGone(() => {
      if (this.claim === null) this.signal.abort("client_gone");
    });
  }
}
