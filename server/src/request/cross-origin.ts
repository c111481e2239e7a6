import type { IncomingBody } from "../admission/incoming-body.ts";
import type { ResponseHeaders } from "../operations/operation.ts";
import type { BodySink, Exchange, RefusableExchange } from "./exchange.ts";

/** The value of `OSTIARY_ALLOWED_ORIGINS` that allows every page. */
const EVERY_ORIGIN = "*";
/** How long a browser may remember an answer to its question. No browser remembers it for longer. */
const MAX_AGE_S = 7_200;
/** An authorization is not among the headers of `*`. Credentials of the browser, such as cookies, are never allowed. */
const PREFLIGHT_HEADERS: ResponseHeaders = {
  "access-control-allow-methods": "*",
  "access-control-allow-headers": "authorization, *",
  "access-control-max-age": String(MAX_AGE_S),
};

/**
 * Lets pages of the operator's choice call the API from a browser: the CORS protocol
 * (https://fetch.spec.whatwg.org/#http-cors-protocol). Pages of other origins get the answers that they would get without it, which
 * browsers keep from them.
 */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  /** `origins`: as browsers send them, or `*` for every page; none for no page but the service's own. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Answers the question whether a page may send a request. Returns whether it was that question, and of a page that may. */
  answersPreflight(exchange: Exchange, requestId: string): boolean {
    if (exchange.method !== "OPTIONS" || exchange.header("access-control-request-method").length === 0)
      return false;
    const added = this.#headersFor(exchange);
    if (added === null) return false;
    exchange.respond(200, [added, PREFLIGHT_HEADERS, { "x-request-id": requestId }], "");
    return true;
  }

  /** The request as it is, or with headers added to its answer that let the page read it. */
  open(exchange: Exchange): Exchange {
    const added = this.#headersFor(exchange);
    return added === null ? exchange : new ReadableExchange(exchange, added);
  }

  /** The same for a request that is refused. */
  openRefusable(exchange: RefusableExchange): RefusableExchange {
    const added = this.#headersFor(exchange);
    return added === null ? exchange : new ReadableRefusal(exchange, added);
  }

  #headersFor(exchange: RefusableExchange): ResponseHeaders | null {
    if (this.#origins.size === 0 || !exchange.path.startsWith("/v1/")) return null;
    const [origin] = exchange.header("origin");
    if (origin === undefined) return null;
    const exposed = { "access-control-expose-headers": "*" };
    if (this.#origins.has(EVERY_ORIGIN)) return { "access-control-allow-origin": EVERY_ORIGIN, ...exposed };
    return this.#origins.has(origin)
      ? { "access-control-allow-origin": origin, vary: "origin", ...exposed }
      : null;
  }
}

/** A request whose answer has further headers. */
class ReadableRefusal<Inner extends RefusableExchange> implements RefusableExchange {
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

  get costOfAnswering(): number {
    return this.inner.costOfAnswering;
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

  /** No name may be in two of the objects. */
  protected withAdded(headers: readonly ResponseHeaders[]): readonly ResponseHeaders[] {
    const vary = headers.map((group) => group.vary).find((value) => value !== undefined);
    if (vary === undefined || this.#added.vary === undefined) return [...headers, this.#added];
    const others = headers.map(({ vary: _, ...group }) => group);
    return [...others, { ...this.#added, vary: `${vary}, ${this.#added.vary}` }];
  }
}

class ReadableExchange extends ReadableRefusal<Exchange> implements Exchange {
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
