import { fromCaller, functionOf } from "./checks.ts";
import type { APIConnectionError } from "./errors.ts";

/** A request that is about to be sent: once for each attempt. */
export interface RequestEvent {
  /** The HTTP method. */
  readonly method: "GET" | "POST";
  /** The path below the base URL, without a query. */
  readonly path: string;
  /** The number of the attempt, from 0. */
  readonly attempt: number;
  /** The key with which the service recognizes a repeated request; `null` without one. */
  readonly idempotencyKey: string | null;
}

/** The outcome of an attempt. The body of the answer has not been read. */
export interface ResponseEvent extends RequestEvent {
  /** HTTP status; `null` if no answer came. */
  readonly status: number | null;
  /** The `x-request-id` of the answer, for the operator of the service; `null` without one. */
  readonly requestId: string | null;
  /** Milliseconds from the request to the beginning of its answer, or to the failure. */
  readonly elapsedMs: number;
  /** The reason why no answer came; `null` if one did. */
  readonly error: APIConnectionError | null;
}

/** Events of a client and the arguments of their listeners. */
export interface ClientEvents {
  /** A request is about to be sent. */
  request: [event: RequestEvent];
  /** An answer has begun, or none came. */
  response: [event: ResponseEvent];
}

type Listener<Name extends keyof ClientEvents> = (...details: ClientEvents[Name]) => void;

/** The listeners of a client. */
export class ClientListeners {
  readonly #listeners: { readonly [Name in keyof ClientEvents]: Set<Listener<Name>> } = {
    request: new Set(),
    response: new Set(),
  };

  /** Adds the listeners of another client. */
  addAll(others: ClientListeners): void {
    for (const listener of others.#listeners.request) this.add("request", listener);
    for (const listener of others.#listeners.response) this.add("response", listener);
  }

  /** @throws {OstiaryError} there is no such event, or the listener is no function. */
  add<Name extends keyof ClientEvents>(name: Name, listener: Listener<Name>): void {
    functionOf("listener", listener);
    fromCaller(() => this.#listeners[name].add(listener));
  }

  remove<Name extends keyof ClientEvents>(name: Name, listener: Listener<Name>): void {
    this.#listeners[name]?.delete(listener);
  }

  /** Calls the listeners of an event. */
  emit<Name extends keyof ClientEvents>(name: Name, ...details: ClientEvents[Name]): void {
    notify(this.#listeners[name], details);
  }
}

/** Calls listeners. What one throws becomes an unhandled rejection, because work must not fail by being observed. */
export function notify<Details extends readonly unknown[]>(
  listeners: Iterable<(...details: Details) => void>,
  details: Details,
): void {
  for (const listener of listeners) {
    try {
      listener(...details);
    } catch (error) {
      void Promise.reject(error);
    }
  }
}
