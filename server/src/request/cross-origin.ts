import type { IncomingBody } from "../admission/incoming-body.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import type { BodySink, Exchange, RefusableExchange } from "./exchange.ts";
import { requestIdHeaders } from "./messages-client.ts";

/** The value of `OSTIARY_ALLOWED_ORIGINS` that allows every page. */
const EVERY_ORIGIN = "*";
/** How long a browser may remember the answer to a preflight. Chromium's maximum. */
const MAX_AGE_S = 7_200;
/** `*` does not include `Authorization` (Fetch standard, CORS-non-wildcard request-header name). Credentials of the browser, such as cookies, are never allowed. */
const PREFLIGHT_HEADERS: ResponseHeaders = {
  "access-control-allow-methods": "*",
  "access-control-allow-headers": "authorization, *",
  "access-control-max-age": String(MAX_AGE_S),
};

/**
 * Lets pages of the operator's choice call the API from a browser, by the CORS protocol (https://fetch.spec.whatwg.org/#http-cors-protocol). Answers
 * to pages of other origins carry no CORS headers, so browsers do not let these pages read them.
 */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  /** `origins`: as browsers send them, or `*` for every page; none for no page but the service's own. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Whether this is a preflight, by which a browser asks if a page may send a request, and the page may. */
  isPreflight(exchange: RefusableExchange): boolean {
    if (exchange.method !== "OPTIONS" || exchange.header("access-control-request-method").length === 0)
      return false;
    return this.#headersFor(exchange)?.["access-control-allow-origin"] !== undefined;
  }

  /** Answers a preflight: the page may send its request. */
  answerPreflight(exchange: Exchange, requestId: string): void {
    const ids = requestIdHeaders(exchange, requestId);
    this.withCors(exchange).respond(200, [PREFLIGHT_HEADERS, ids], "");
  }

  /** Adds the headers to the request's answer that let the page read it, and those that a cache needs. Returns the request as it is if there are none. */
  withCors(exchange: Exchange): Exchange {
    const added = this.#headersFor(exchange);
    return added === null ? exchange : new ExchangeWithCors(exchange, added);
  }

  /** As {@link withCors}, for a request that is refused. */
  refusableWithCors(exchange: RefusableExchange): RefusableExchange {
    const added = this.#headersFor(exchange);
    return added === null ? exchange : new RefusableWithCors(exchange, added);
  }

  #headersFor(exchange: RefusableExchange): ResponseHeaders | null {
    // The dashboard's requests use the session's cookie, and are never for other origins.
    if (this.#origins.size === 0 || exchange.path.startsWith("/dashboard/")) return null;
    const [origin] = exchange.header("origin");
    const exposed = { "access-control-expose-headers": "*" };
    if (this.#origins.has(EVERY_ORIGIN))
      return origin === undefined ? null : { "access-control-allow-origin": EVERY_ORIGIN, ...exposed };
    // Answers that no page may read have this header, too: a cache would give them to a page that may, without the headers that it needs.
    const varied = { vary: "origin" };
    return origin !== undefined && this.#origins.has(origin)
      ? { "access-control-allow-origin": origin, ...varied, ...exposed }
      : varied;
  }
}

/** A request to whose answer the headers of the CORS protocol are added. */
class RefusableWithCors<Inner extends RefusableExchange> implements RefusableExchange {
  protected readonly inner: Inner;
  readonly #added: ResponseHeaders;

  constructor(inner: Inner, added: ResponseHeaders) {
    this.inner = inner;
    this.#added = added;
  }

  get method(): string {
    return this.inner.method;
  }

  get path(): string {
    return this.inner.path;
  }

  get peer(): string {
    return this.inner.peer;
  }

  get answerTimeFactor(): number {
    return this.inner.answerTimeFactor;
  }

  header(name: string): readonly string[] {
    return this.inner.header(name);
  }

  letOthersGoFirst(): Promise<void> | null {
    return this.inner.letOthersGoFirst();
  }

  respond(status: number, headers: readonly ResponseHeaders[], body: string): void {
    this.inner.respond(status, this.withAdded(headers), body);
  }

  abandon(): void {
    this.inner.abandon();
  }

  /** No name may be in two of the objects. The description of the API lets every page read it, and compressed answers vary. */
  protected withAdded(headers: readonly ResponseHeaders[]): readonly ResponseHeaders[] {
    const all: Record<string, string> = Object.assign({}, ...headers);
    const vary = [all.vary, this.#added.vary].filter((value) => value !== undefined).join(", ");
    return [{ ...all, ...this.#added, ...(vary === "" ? {} : { vary }) }];
  }
}

class ExchangeWithCors extends RefusableWithCors<Exchange> implements Exchange {
  get query(): URLSearchParams {
    return this.inner.query;
  }

  get isClientGone(): boolean {
    return this.inner.isClientGone;
  }

  onClientGone(listener: () => void): void {
    this.inner.onClientGone(listener);
  }

  receive(body: IncomingBody): void {
    this.inner.receive(body);
  }

  override respond(status: number, headers: readonly ResponseHeaders[], body: string | Uint8Array): void {
    this.inner.respond(status, this.withAdded(headers), body);
  }

  stream(status: number, headers: readonly ResponseHeaders[]): BodySink {
    return this.inner.stream(status, this.withAdded(headers));
  }
}
