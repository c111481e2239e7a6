import { InFlight } from "../admission/in-flight.ts";
import type { AccountId } from "../contract/account.ts";
import { requestIdOf } from "../contract/entry.ts";
import type { Failure } from "../errors/failure.ts";
import { clientAddress } from "../networks/client-address.ts";
import { type ErrorAnswer, errorAnswerOf, errorFormatOf } from "./error-answer.ts";
import type { Exchange, RefusableExchange } from "./exchange.ts";
import { handleRequest } from "./handle-request.ts";
import { requestIdHeaders } from "./messages-client.ts";
import { checkBody } from "./receive-body.ts";
import { RequestContext } from "./request-context.ts";
import { sentKeyOf } from "./sent-credential.ts";
import type { Services } from "./services.ts";

const ABANDONED = Promise.resolve();

/** Answers everything under `/v1` and `/dashboard`, and knows which requests are being answered. */
export class RequestHandler {
  readonly #services: Services;
  readonly #requests = new InFlight<RequestContext>();
  #refusedWithoutKnownKey = 0;
  readonly #onIdle: (() => void)[] = [];
  /** The last refusal of {@link Overload}, and its answer. */
  #lastRefusal: { readonly failure: Failure; readonly answer: ErrorAnswer } | null = null;

  constructor(services: Services) {
    this.#services = services;
  }

  /** The number of requests that were refused without a key that exists or existed. */
  get refusedWithoutKnownKey(): number {
    return this.#refusedWithoutKnownKey;
  }

  /** The methods and paths of the served operations, as audit entries name them. */
  get endpoints(): readonly string[] {
    return this.#services.operations.endpoints;
  }

  /** Whether a path is one of the API without `/v1` in front. */
  lacksVersion(path: string): boolean {
    return this.#services.operations.lacksVersion(path);
  }

  /** How many connections that rest may be read again in this turn of the event loop. */
  readableInTurn(): number {
    return this.#services.overload.readableInTurn();
  }

  /** The number of requests that are being answered. */
  get inFlight(): number {
    return this.#requests.size;
  }

  /** Whether requests may have to be refused because there are too many. */
  get isOverloaded(): boolean {
    return this.#services.overload.isOverloaded;
  }

  /**
   * Refuses a request before its body is read, if there are too many. Returns whether it was refused. If not, call {@link handleAccepted} to answer
   * it.
   */
  refuseIfOverloaded(exchange: RefusableExchange): boolean {
    try {
      const refusal = this.#refusalOnArrival(exchange);
      if (refusal === null) return false;
      // The refusal is sent at once. Only further requests of the connection wait for their turn.
      void exchange.letOthersGoFirst();
      this.#refuse(exchange, refusal);
    } catch (fault) {
      this.#abandon(exchange, fault);
    }
    return true;
  }

  /** Answers one request, or refuses it if there are too many. Neither throws nor rejects. */
  handle(exchange: Exchange): Promise<void> {
    let refusal: Failure | null;
    try {
      refusal = this.#refusalOnArrival(exchange);
    } catch (fault) {
      this.#abandon(exchange, fault);
      return ABANDONED;
    }
    return refusal === null ? this.handleAccepted(exchange) : this.#refuseInTurn(exchange, refusal);
  }

  /** Answers one request that was counted and not refused. Never rejects. */
  async handleAccepted(exchange: Exchange): Promise<void> {
    try {
      const { newId, monotonicMs, trustedProxies, overload, crossOrigin, log } = this.#services;
      if (overload.isTurnLong) {
        const turn = exchange.letOthersGoFirst();
        if (turn !== null) await turn;
      }
      if (crossOrigin.isPreflight(exchange)) return this.#answerPreflight(exchange);
      const request = new RequestContext(
        crossOrigin.withCors(exchange),
        newId(),
        monotonicMs(),
        trustedProxies,
      );
      this.#requests.add(request);
      try {
        await handleRequest(request, this.#services);
      } catch (fault) {
        // The failure could not be sent. One request's fault must not end the process.
        log.error({ requestId: requestIdOf(request.id), err: fault }, "a request could not be answered");
      }
      if (request.begun === null) overload.served();
      this.#logAccess(request);
      if (request.isWithoutKnownKey) this.#refusedWithoutKnownKey++;
      this.#requests.delete(request);
      if (this.#requests.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
    } catch (fault) {
      this.#abandon(exchange, fault);
    }
  }

  /** One request's fault must not end the process, and its client must not wait forever. */
  #abandon(exchange: RefusableExchange, fault: unknown): void {
    this.#services.log.error({ err: fault }, "a request could not be answered");
    exchange.abandon();
  }

  /** Counts a request. Returns the failure to refuse it with if there are too many; `null` to serve it. */
  #refusalOnArrival(exchange: RefusableExchange): Failure | null {
    const { overload, operations, crossOrigin } = this.#services;
    const refusal = overload.refusalOnArrival(
      () => this.#accountIfKnown(exchange),
      exchange.method === "POST",
    );
    if (refusal === null) return null;
    // A key can be revoked under any load. Answering a preflight costs no more than a refusal.
    return operations.isManagement(exchange) || crossOrigin.isPreflight(exchange) ? null : refusal;
  }

  /** The account of the request's key, if the key was read recently. It does not say whether the key may be used. */
  #accountIfKnown(exchange: RefusableExchange): AccountId | null {
    return this.#services.access.accountIfKnown(sentKeyOf(exchange));
  }

  /** Never rejects. */
  async #refuseInTurn(exchange: Exchange, failure: Failure): Promise<void> {
    try {
      const turn = exchange.letOthersGoFirst();
      if (turn !== null) await turn;
      this.#refuse(exchange, failure);
    } catch (fault) {
      this.#abandon(exchange, fault);
    }
  }

  /** Refuses a request before anything else is done for it: under overload, nearly all of the time must go to accepted requests. */
  #refuse(exchange: RefusableExchange, failure: Failure): void {
    const { newId, monotonicMs, overload, crossOrigin } = this.#services;
    const beganMs = monotonicMs();
    const requestId = requestIdOf(newId());
    const { status, headers, body } = this.#refusalOf(exchange, failure, requestId);
    const ids = requestIdHeaders(exchange, requestId);
    crossOrigin.refusableWithCors(exchange).respond(status, [headers, ids], body);
    overload.refused((monotonicMs() - beganMs) * exchange.answerTimeFactor);
    this.#logAtOnce(exchange, requestId, status);
  }

  #answerPreflight(exchange: Exchange): void {
    const requestId = requestIdOf(this.#services.newId());
    this.#services.crossOrigin.answerPreflight(exchange, requestId);
    this.#logAtOnce(exchange, requestId, 200);
  }

  /** Logs a request that was answered without a request context. */
  #logAtOnce(exchange: RefusableExchange, requestId: string, status: number): void {
    const { method, path, peer } = exchange;
    this.#services.accessLog?.({
      requestId,
      method,
      path,
      status,
      durationMs: 0,
      clientAddress: clientAddress(peer, exchange.header("x-forwarded-for"), this.#services.trustedProxies),
    });
  }

  /** The answer to a refused request. Clients of OpenAI's format share one answer, because nothing in it depends on the request. */
  #refusalOf(exchange: RefusableExchange, failure: Failure, requestId: string): ErrorAnswer {
    if (errorFormatOf(exchange) !== "openai") return errorAnswerOf(exchange, failure, requestId);
    if (this.#lastRefusal?.failure !== failure)
      this.#lastRefusal = { failure, answer: errorAnswerOf(exchange, failure, requestId) };
    return this.#lastRefusal.answer;
  }

  #logAccess(request: RequestContext): void {
    const { accessLog, monotonicMs } = this.#services;
    if (accessLog === null) return;
    const { exchange, caller } = request;
    accessLog({
      requestId: requestIdOf(request.id),
      method: exchange.method,
      path: exchange.path,
      status: request.status,
      durationMs: Math.round(monotonicMs() - request.startedMs),
      clientAddress: request.sourceIp,
      accountId: caller?.snapshot.account.id,
      keyId: caller?.snapshot.key.keyId,
      model: request.model ?? undefined,
      clientGone: exchange.isClientGone,
    });
  }

  /**
   * Sends heartbeats on silent streams, refuses bodies that are received too slowly, and reports requests that failed without a line in the log. Call
   * it every few seconds.
   */
  maintain(): void {
    this.#services.faults.report();
    for (const request of this.#requests) {
      void checkBody(request, this.#services);
      request.stream?.sendHeartbeat();
    }
  }

  /** Resolves when no request is being answered, including those of disconnected clients. */
  async untilIdle(): Promise<void> {
    if (this.#requests.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle.push(resolve);
    });
  }

  /** Aborts the requests that are being answered. Their clients get an error if possible, and they are recorded. */
  abortAll(): void {
    for (const request of this.#requests) request.signal.abort("shutdown");
  }
}
