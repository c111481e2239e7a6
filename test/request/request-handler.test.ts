import pino from "pino";
import { describe, expect, it } from "vitest";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { Failure } from "../../server/src/errors/failure.ts";
import { FaultLog } from "../../server/src/errors/fault-log.ts";
import type { ResponseHeaders } from "../../server/src/errors/response-headers.ts";
import { parseNetworks } from "../../server/src/networks/networks.ts";
import { CrossOrigin } from "../../server/src/request/cross-origin.ts";
import type { Exchange } from "../../server/src/request/exchange.ts";
import { OperationTable } from "../../server/src/request/find-operation.ts";
import { RequestHandler } from "../../server/src/request/request-handler.ts";
import type { Services } from "../../server/src/request/services.ts";

/** A request for a path that is not served, on a runtime that can't send its answer. */
class UnanswerableExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly peer = "127.0.0.1";
  readonly query = new URLSearchParams();
  readonly isClientGone = false;
  readonly answerTimeFactor = 1;
  /** Whether the connection was closed. */
  isAbandoned = false;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(method = "GET", headers: Readonly<Record<string, string>> = {}, path = "/v1/nothing") {
    this.method = method;
    this.#headers = headers;
    this.path = path;
  }

  header(name: string): readonly string[] {
    const value = this.#headers[name];
    return value === undefined ? [] : [value];
  }

  onClientGone(): void {}

  receive(): void {}

  letOthersGoFirst(): null {
    return null;
  }

  respond(_status: number, _headers: readonly ResponseHeaders[]): void {
    throw new Error("the answer can't be sent");
  }

  stream(): never {
    throw new Error("the answer can't be sent");
  }

  abandon(): void {
    this.isAbandoned = true;
  }
}

/** A request whose answer is kept. */
class AnsweredExchange extends UnanswerableExchange {
  status = 0;
  readonly headers: Record<string, string> = {};

  override respond(status: number, headers: readonly ResponseHeaders[]): void {
    this.status = status;
    Object.assign(this.headers, ...headers);
  }
}

const OVERLOADED = new Failure("server_is_overloaded", "too many");

/** A handler with the parts that a request for an unserved path uses. `refusalOnArrival` is what {@link Overload} says of a request. */
function openHandler(refusalOnArrival: () => Failure | null = () => null) {
  const lines: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const monotonicMs = () => 0;
  const services = {
    operations: new OperationTable([]),
    overload: { refusalOnArrival, served: () => {}, refused: () => {}, isTurnLong: false },
    crossOrigin: new CrossOrigin(["*"]),
    recorder: { requireCapacity: () => {} },
    security: { note: () => {} },
    trustedProxies: parseNetworks([]).networks,
    accessLog: null,
    log,
    faults: new FaultLog({ log, monotonicMs }),
    newId: () => "018f3a5e-0000-7000-8000-000000000001" as EntryId,
    monotonicMs,
  } as unknown as Services;
  return { requests: new RequestHandler(services), lines };
}

describe("a request that can't be answered is logged, its connection closed, and the process goes on:", () => {
  it("one that is served", async () => {
    const { requests, lines } = openHandler();
    const exchange = new UnanswerableExchange();
    await requests.handle(exchange);
    expect(exchange.isAbandoned).toBe(true);
    expect(requests.inFlight).toBe(0);
    await requests.untilIdle();
    expect(lines.join()).toContain("a request could not be answered");
  });

  const preflight = { origin: "https://app.example", "access-control-request-method": "POST" };
  const fails = () => {
    throw new Error("a fault");
  };
  it.each<[string, () => Failure | null, UnanswerableExchange]>([
    ["one that is refused", () => OVERLOADED, new UnanswerableExchange("POST")],
    ["a preflight", () => null, new UnanswerableExchange("OPTIONS", preflight)],
    ["one that can't be counted", fails, new UnanswerableExchange("POST")],
  ])("%s", async (_, refusalOnArrival, exchange) => {
    const { requests, lines } = openHandler(refusalOnArrival);
    await requests.handle(exchange);
    expect(exchange.isAbandoned).toBe(true);
    expect(lines.join()).toContain("a request could not be answered");
  });

  it("one that is refused when its head was read", () => {
    const { requests, lines } = openHandler(() => OVERLOADED);
    const exchange = new UnanswerableExchange("POST");
    expect(requests.refuseIfOverloaded(exchange)).toBe(true);
    expect(exchange.isAbandoned).toBe(true);
    expect(lines.join()).toContain("a request could not be answered");
  });

  it("a preflight that was counted before", async () => {
    const { requests } = openHandler();
    const exchange = new UnanswerableExchange("OPTIONS", preflight);
    await requests.handleAccepted(exchange);
    expect(exchange.isAbandoned).toBe(true);
  });
});

describe("an answer that is sent before the request's lifecycle begins", () => {
  const preflight = { origin: "https://app.example", "access-control-request-method": "POST" };

  it.each([
    ["/v1/messages", true],
    ["/v1/messages/count_tokens", true],
    ["/v1/chat/completions", false],
  ])("has the request's id by the names that clients of %s read", async (path, isForMessages) => {
    const { requests } = openHandler(() => OVERLOADED);
    const inTurn = new AnsweredExchange("POST", {}, path);
    await requests.handle(inTurn);
    const early = new AnsweredExchange("POST", {}, path);
    requests.refuseIfOverloaded(early);
    const asked = new AnsweredExchange("OPTIONS", preflight, path);
    await requests.handle(asked);
    expect([inTurn.status, early.status, asked.status]).toEqual([
      ...(isForMessages ? [529, 529] : [503, 503]),
      200,
    ]);
    for (const { headers } of [inTurn, early, asked]) {
      expect(headers["x-request-id"]).toMatch(/^req_/);
      expect(headers["request-id"]).toBe(isForMessages ? headers["x-request-id"] : undefined);
    }
  });
});
