/// <reference path="./undici-parts.d.ts" />
// The parts of undici are imported one by one: the whole package includes fetch, WebSocket and caches, and takes as long to load as all other code
// for upstreams.
import type { LookupFunction } from "node:net";
import buildConnector from "undici/lib/core/connect.js";
import errors from "undici/lib/core/errors.js";
import Agent from "undici/lib/dispatcher/agent.js";
import type { RequestSignal } from "../../errors/request-signal.ts";
import { SharedTimeouts } from "../../errors/shared-timeouts.ts";
import { sharedLookup } from "../../networks/shared-lookup.ts";
import {
  type HeaderList,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../transport.ts";
import { ProxyFailure, refusedByProxy } from "./connect-failures.ts";
import { UNCOMPRESSED } from "./decoded-answer.ts";
import { NO_PROXIES, type OutgoingProxy, Proxies, type ProxySettings } from "./proxies.ts";
import { connectThroughProxy } from "./tunnel.ts";
import { AnswerOverdue, UndiciExchange } from "./undici-exchange.ts";
import { connectWithoutInterim, MAX_RECEIVED_BYTES } from "./without-interim.ts";

/** How a URL is reached. */
interface Target {
  /** The host that gets the request: for an upstream of `http:` that has a proxy, the proxy. */
  readonly origin: string;
  readonly path: string;
  /** The transport's own headers. */
  readonly headers: HeaderList;
  /** The proxy that connects to the upstream; `null`: the host is connected to directly. */
  readonly tunnel: OutgoingProxy | null;
  /** Whether the host is a proxy, which sends the request to the upstream. */
  readonly isRelayed: boolean;
}

/** Called when a request to the URL has failed because of its proxy. */
type OnProxyFailed = (failure: ProxyFailure, url: string) => void;

interface UndiciTransportOptions {
  /** Looks up the hosts of upstreams and proxies. */
  readonly lookup?: LookupFunction;
  /** See {@link MAX_RECEIVED_BYTES}. */
  readonly maxReceivedBytes?: number;
  readonly proxies?: ProxySettings;
  readonly onProxyFailed?: OnProxyFailed;
}

const MAX_TARGETS = 1_000;
const NO_HEADERS: HeaderList = [];
/** A body up to this size is kept until the answer ends: undici sends bytes with less work than an iterable. */
const MAX_KEPT_BYTES = 32 * 1024;
const PROXY_AUTHENTICATION_REQUIRED = 407;

/** Upstreams over HTTP: undici's dispatcher, a tenth of the cost of Node's global `fetch`, and cheaper than Deno's. */
export class UndiciTransport implements Transport {
  /** One agent for each connect timeout of the catalog, because undici sets it for an agent, and for each way to connect. */
  readonly #agents = { direct: new Map<number, Agent>(), tunnel: new Map<number, Agent>() };
  /** The timeouts of whole answers, by their length. */
  readonly #totals = new Map<number, SharedTimeouts>();
  /** Parsed URLs. There are few: the catalog names the upstreams. */
  readonly #targets = new Map<string, Target>();
  readonly #lookup: LookupFunction;
  readonly #maxReceivedBytes: number;
  readonly #proxies: Proxies;
  readonly #onProxyFailed: OnProxyFailed;

  constructor({
    lookup = sharedLookup(),
    maxReceivedBytes = MAX_RECEIVED_BYTES,
    proxies = NO_PROXIES,
    onProxyFailed = () => {},
  }: UndiciTransportOptions = {}) {
    this.#lookup = lookup;
    this.#maxReceivedBytes = maxReceivedBytes;
    this.#proxies = new Proxies(proxies);
    this.#onProxyFailed = onProxyFailed;
  }

  send({
    url,
    method,
    headers,
    body,
    signal,
    timeouts,
    memory,
  }: TransportRequest): Promise<TransportResponse> {
    const target = this.#targetOf(url);
    const toError = (error: unknown, wasSent: boolean) => {
      if (error instanceof ProxyFailure) this.#onProxyFailed(error, url);
      return toTransportError(error, signal, wasSent);
    };
    const exchange = new UndiciExchange({
      signal,
      toError,
      totals: this.#totalsFor(timeouts.totalMs),
      memory,
    });
    const head = exchange.head();
    const sent = sentOnce(body);
    this.#agentFor(target, timeouts.connectMs).dispatch(
      {
        origin: target.origin,
        path: target.path,
        method,
        headers: [...headers, ...target.headers, ...sent.headers],
        body: sent.body,
        headersTimeout: timeouts.firstByteMs,
        bodyTimeout: timeouts.idleMs,
      },
      exchange,
    );
    return target.isRelayed ? head.then((answer) => this.#ofRelay(answer, url)) : head;
  }

  async close(): Promise<void> {
    const agents = Object.values(this.#agents).flatMap((ofWay) => [...ofWay.values()]);
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  /** @throws {ProxyFailure} the answer is the proxy's own, which wants to know who asks. */
  async #ofRelay(answer: TransportResponse, url: string): Promise<TransportResponse> {
    if (answer.status !== PROXY_AUTHENTICATION_REQUIRED) return answer;
    await answer.body[Symbol.asyncIterator]().return?.();
    const failure = refusedByProxy(answer.status);
    this.#onProxyFailed(failure, url);
    throw failure;
  }

  #targetOf(url: string): Target {
    let target = this.#targets.get(url);
    if (target === undefined) {
      target = targetOf(new URL(url), this.#proxies);
      if (this.#targets.size >= MAX_TARGETS) this.#targets.clear();
      this.#targets.set(url, target);
    }
    return target;
  }

  #totalsFor(totalMs: number): SharedTimeouts {
    let totals = this.#totals.get(totalMs);
    if (totals === undefined) {
      totals = new SharedTimeouts(totalMs);
      this.#totals.set(totalMs, totals);
    }
    return totals;
  }

  #agentFor({ tunnel }: Target, connectMs: number): Agent {
    const agents = tunnel === null ? this.#agents.direct : this.#agents.tunnel;
    let agent = agents.get(connectMs);
    if (agent === undefined) {
      const [timeoutMs, lookup] = [connectMs, this.#lookup];
      const connector =
        tunnel === null
          ? buildConnector({ timeout: timeoutMs, lookup })
          : connectThroughProxy({ timeoutMs, lookup, proxy: tunnel });
      const connect = connectWithoutInterim(connector, this.#maxReceivedBytes);
      agent = new Agent({ connect, connections: null, pipelining: 1 });
      agents.set(connectMs, agent);
    }
    return agent;
  }
}

/**
 * A body as undici is to send it. undici keeps the bytes of a request until its answer ends, which takes minutes for some streams, so a large body is
 * an iterable that lets its bytes go when they are written. undici's documentation lists iterables among bodies, its types do not.
 */
function sentOnce(bytes: Uint8Array | null): {
  readonly headers: HeaderList;
  readonly body: Uint8Array | null;
} {
  if (bytes === null || bytes.length <= MAX_KEPT_BYTES) return { headers: NO_HEADERS, body: bytes };
  const pieces = [bytes];
  const body: IterableIterator<Uint8Array> = {
    next: () => {
      const value = pieces.pop();
      return value === undefined ? { done: true, value } : { done: false, value };
    },
    [Symbol.iterator]: () => body,
  };
  return { headers: ["content-length", String(bytes.length)], body: body as unknown as Uint8Array };
}

function targetOf(url: URL, proxies: Proxies): Target {
  const { origin, host, pathname, search } = url;
  const path = pathname + search;
  const proxy = proxies.of(url);
  if (proxy === null || url.protocol === "https:") {
    return { origin, path, headers: UNCOMPRESSED, tunnel: proxy, isRelayed: false };
  }
  // The form of a request to a proxy (RFC 9112, section 3.2.2). Many proxies open tunnels to the port of HTTPS only.
  return {
    origin: proxy.address.origin,
    path: `${origin}${path}`,
    headers: [...UNCOMPRESSED, "host", host, ...proxy.credential],
    tunnel: null,
    isRelayed: true,
  };
}

function toTransportError(error: unknown, signal: RequestSignal, wasSent: boolean): TransportError {
  if (signal.aborted) return new TransportError("aborted", "the request was aborted", error, wasSent);
  // No connection was made.
  if (error instanceof TransportError) return error;
  const isLate = error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError;
  if (isLate || error instanceof AnswerOverdue) {
    return new TransportError("timeout", "the upstream took too long", error);
  }
  return new TransportError("cut", "the upstream's connection broke", error);
}
