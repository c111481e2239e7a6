/// <reference path="./undici-parts.d.ts" />
// The parts of undici are imported one by one: the whole package includes fetch, WebSocket and caches, and takes as long to load as all other code
// for upstreams.
import errors from "undici/lib/core/errors.js";
import Agent from "undici/lib/dispatcher/agent.js";
import type { RequestSignal } from "../../errors/request-signal.ts";
import { SharedTimeouts } from "../../errors/shared-timeouts.ts";
import { sharedLookup } from "../../networks/shared-lookup.ts";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../transport.ts";
import { UNCOMPRESSED } from "./decoded-answer.ts";
import { AnswerOverdue, UndiciExchange } from "./undici-exchange.ts";
import { type ConnectOptions, connectWithoutInterim, MAX_RECEIVED_BYTES } from "./without-interim.ts";

interface Target {
  readonly origin: string;
  readonly path: string;
}

const MAX_TARGETS = 1_000;
/** The system's calls that fail before anything is sent. */
const CONNECTING: ReadonlySet<unknown> = new Set(["connect", "getaddrinfo"]);

/** Upstreams over HTTP: undici's dispatcher, a tenth of the cost of Node's global `fetch`, and cheaper than Deno's. */
export class UndiciTransport implements Transport {
  /** One agent for each connect timeout of the catalog, because undici sets it for an agent. */
  readonly #agents = new Map<number, Agent>();
  /** The timeouts of whole answers, by their length. */
  readonly #totals = new Map<number, SharedTimeouts>();
  /** Parsed URLs. There are few: the catalog names the upstreams. */
  readonly #targets = new Map<string, Target>();
  readonly #options: Omit<ConnectOptions, "timeoutMs">;

  constructor({
    lookup = sharedLookup(),
    maxReceivedBytes = MAX_RECEIVED_BYTES,
  }: Partial<Omit<ConnectOptions, "timeoutMs">> = {}) {
    this.#options = { lookup, maxReceivedBytes };
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
    const { origin, path } = this.#targetOf(url);
    const toError = (error: unknown, wasSent: boolean) => toTransportError(error, signal, wasSent);
    const exchange = new UndiciExchange({
      signal,
      toError,
      totals: this.#totalsFor(timeouts.totalMs),
      memory,
    });
    const head = exchange.head();
    this.#agentFor(timeouts.connectMs).dispatch(
      {
        origin,
        path,
        method,
        headers: [...headers, ...UNCOMPRESSED],
        body,
        headersTimeout: timeouts.firstByteMs,
        bodyTimeout: timeouts.idleMs,
      },
      exchange,
    );
    return head;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  #targetOf(url: string): Target {
    let target = this.#targets.get(url);
    if (target === undefined) {
      const { origin, pathname, search } = new URL(url);
      target = { origin, path: pathname + search };
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

  #agentFor(connectMs: number): Agent {
    let agent = this.#agents.get(connectMs);
    if (agent === undefined) {
      const connect = connectWithoutInterim({ ...this.#options, timeoutMs: connectMs });
      agent = new Agent({ connect, connections: null, pipelining: 1 });
      this.#agents.set(connectMs, agent);
    }
    return agent;
  }
}

/** Whether no connection was made, so that nothing was sent. For a host with several addresses, all of them have failed. */
function isOfConnecting(error: unknown): boolean {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  return first instanceof Error && "syscall" in first && CONNECTING.has(first.syscall);
}

function toTransportError(error: unknown, signal: RequestSignal, wasSent: boolean): TransportError {
  if (signal.aborted) return new TransportError("aborted", "the request was aborted", error, wasSent);
  if (error instanceof errors.ConnectTimeoutError) {
    return new TransportError("connect", "the upstream could not be reached in time", error);
  }
  const isLate = error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError;
  if (isLate || error instanceof AnswerOverdue) {
    return new TransportError("timeout", "the upstream took too long", error);
  }
  if (isOfConnecting(error)) {
    return new TransportError("connect", "the upstream could not be reached", error);
  }
  return new TransportError("cut", "the upstream's connection broke", error);
}
