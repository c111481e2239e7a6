import { APIPromise } from "./api-promise.ts";
import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  errorFor,
  OstiaryError,
  retryAfterMsOf,
} from "./errors.ts";
import type { Log } from "./log.ts";
import { pause } from "./pause.ts";
import type { Send, WireAnswer, WireRequest } from "./wire.ts";

/** The client's settings that every request uses. */
export interface TransportSettings {
  /** The base URL, including `/v1`. */
  readonly baseURL: string;
  /** The `Authorization` header of an API's requests; `null` to send none. @throws {OstiaryError} there is no key or token for it. */
  readonly authorization: (plane: Plane) => string | null;
  readonly log: Log;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly defaultHeaders: Readonly<Record<string, string>>;
  readonly send: Send;
}

/** Options of one request. */
export interface RequestOptions {
  /** Aborting it ends the request and its stream with {@link APIUserAbortError}. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the answer begins, for each attempt. Default: the client's. */
  readonly timeout?: number | undefined;
  /** The maximum number of retries. Default: the client's. */
  readonly maxRetries?: number | undefined;
  /** Headers that override the client's. `Authorization` cannot be overridden. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Requests for models need an API key, management requests a management token; the audit log accepts either. */
export type Plane = "models" | "audit" | "management";

/** The method, path and content of a request, independent of the base URL. */
export interface RequestTarget {
  readonly method: "GET" | "POST";
  /** The path below the base URL, with a leading slash. */
  readonly path: string;
  /** Default: derived from the path. The management API is beside `/v1`. */
  readonly plane?: Plane;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

/** An answer that has begun. */
export interface Answer {
  readonly wire: WireAnswer;
  /** Ends the request. Follows the caller's signal. */
  readonly controller: AbortController;
  /** Stops listening to the caller's signal, which may outlive many requests. Call it when the body has been read. */
  readonly release: () => void;
}

/** An answer's JSON, with its request id in a property that is not enumerable. */
export type Identified<Body> = Body & { readonly _request_id: string | null };

const FIRST_BACKOFF_MS = 500;
const LAST_BACKOFF_MS = 8_000;
/** A longer wait is reported to the caller as an error. */
const MAX_WAIT_MS = 60_000;
/** The timeout for reading the body of an error. */
const ERROR_BODY_TIMEOUT_MS = 10_000;
/** Timers with a longer delay fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Sends requests and retries them. */
export class Transport {
  readonly #settings: TransportSettings;
  readonly #defaultHeaders: Readonly<Record<string, string>>;

  constructor(settings: TransportSettings) {
    this.#settings = settings;
    this.#defaultHeaders = checked(settings.defaultHeaders);
  }

  /**
   * Resolves with a successful answer whose body has not been read.
   *
   * @throws {APIError} the service answered with an error.
   * @throws {APIConnectionError} no answer came.
   * @throws {APIUserAbortError} the caller's signal was aborted.
   */
  async send(target: RequestTarget, options: RequestOptions = {}): Promise<Answer> {
    const answer = await this.exchange(target, options);
    if (!answer.wire.ok) throw await errorOf(answer);
    return answer;
  }

  /**
   * Resolves with the last attempt's answer, which may be an error's, and whose body has not been read.
   *
   * @throws {APIConnectionError} no answer came.
   * @throws {APIUserAbortError} the caller's signal was aborted.
   */
  async exchange(target: RequestTarget, options: RequestOptions = {}): Promise<Answer> {
    const maxRetries = options.maxRetries ?? this.#settings.maxRetries;
    // An invalid request fails here with its own error, not as a failed connection.
    const request = this.#request(target, options);
    const { log } = this.#settings;
    for (let attempt = 0; ; attempt++) {
      const started = Date.now();
      log.debug("request", { method: target.method, path: target.path, attempt });
      const outcome = await this.#attempt(request, options);
      const told = {
        method: target.method,
        path: target.path,
        attempt,
        ms: Date.now() - started,
        ...outcomeOf(outcome),
      };
      log.debug("answer", told);
      if (!(outcome instanceof APIConnectionError) && outcome.wire.ok) return outcome;
      const waitMs = attempt < maxRetries ? waitBefore(outcome, attempt) : null;
      if (waitMs === null) {
        if (outcome instanceof APIConnectionError) throw outcome;
        return outcome;
      }
      if (!(outcome instanceof APIConnectionError)) {
        // Discarding the body frees the connection.
        outcome.wire.discard();
        outcome.release();
      }
      log.info("trying again", { ...told, waitMs: Math.round(waitMs) });
      await pause(waitMs, options.signal);
    }
  }

  /** Returns a promise of the answer's JSON, or of the result of `read`. */
  request<Body>(target: RequestTarget, options?: RequestOptions): APIPromise<Body> {
    return new APIPromise<Body>(this.send(target, options), (answer) => this.read<Body>(answer));
  }

  /**
   * Returns the answer's JSON.
   *
   * @throws the errors of {@link Transport.send}; also when the answer is interrupted (`APIConnectionError`) or is not JSON
   *   (`APIError`). Neither is retried, because the service has done the work.
   */
  async json<Body>(target: RequestTarget, options?: RequestOptions): Promise<Identified<Body>> {
    return this.read<Body>(await this.send(target, options));
  }

  /** The JSON of an answer that has begun. */
  async read<Body>(answer: Answer): Promise<Identified<Body>> {
    const { wire } = answer;
    const text = await textOf(answer);
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      body = null;
    }
    const requestId = wire.header("x-request-id");
    if (typeof body !== "object" || body === null) {
      throw new APIError("The answer is not from the service. Check the base URL.", {
        status: wire.status,
        code: null,
        type: null,
        param: null,
        requestId,
        headers: wire.headers,
      });
    }
    // The property is not enumerable, so that it is not printed. The rest relies on the service's contract.
    return Object.defineProperty(body, "_request_id", {
      value: requestId,
      enumerable: false,
    }) as Identified<Body>;
  }

  async #attempt(request: WireRequest, options: RequestOptions): Promise<Answer | APIConnectionError> {
    const { signal } = options;
    if (signal?.aborted) throw aborted();
    const controller = new AbortController();
    const release = follow(signal, controller);
    const timeoutMs = options.timeout ?? this.#settings.timeoutMs;
    let timedOut = false;
    const timer = setTimeout(
      () => {
        timedOut = true;
        controller.abort();
      },
      Math.min(timeoutMs, MAX_TIMER_MS),
    );
    try {
      return { wire: await this.#settings.send(request, controller.signal), controller, release };
    } catch (cause) {
      release();
      if (signal?.aborted) throw aborted(cause);
      if (timedOut) {
        return new APIConnectionTimeoutError(`No answer within ${timeoutMs} ms.`, { cause });
      }
      return new APIConnectionError(`The service at ${this.#settings.baseURL} cannot be reached.`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  #request(target: RequestTarget, options: RequestOptions): WireRequest {
    const plane = target.plane ?? (target.path.startsWith("/audit") ? "audit" : "models");
    const { baseURL } = this.#settings;
    const authorization = this.#settings.authorization(plane);
    const address = (plane === "management" ? baseURL.replace(/\/v1$/, "") : baseURL) + target.path;
    return {
      url: target.query === undefined ? address : withQuery(address, target.query),
      method: target.method,
      headers: {
        accept: "application/json",
        ...(target.body === undefined ? {} : { "content-type": "application/json" }),
        ...this.#defaultHeaders,
        ...(options.headers === undefined ? {} : checked(options.headers)),
        ...(authorization === null ? {} : { authorization }),
      },
      body: target.body === undefined ? null : JSON.stringify(target.body),
    };
  }
}

/** Converts names to lower case. @throws {OstiaryError} a name or value cannot be sent. The message omits it, because it may be secret. */
function checked(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    throw new OstiaryError("A header's name or value contains characters that are not allowed in headers.");
  }
}

function withQuery(address: string, query: NonNullable<RequestTarget["query"]>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url.href;
}

function outcomeOf(outcome: Answer | APIConnectionError): object {
  if (outcome instanceof APIConnectionError) return { error: outcome.name };
  const { wire } = outcome;
  return { status: wire.status, requestId: wire.header("x-request-id") };
}

/** Milliseconds to wait before the next attempt; `null` if a retry cannot help. */
function waitBefore(outcome: Answer | APIConnectionError, attempt: number): number | null {
  const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** attempt, LAST_BACKOFF_MS) * (1 - Math.random() * 0.25);
  if (outcome instanceof APIConnectionError) return backoffMs;
  const { status, headers } = outcome.wire;
  const advice = headers.get("x-should-retry");
  const retriable = status === 408 || status === 409 || status === 429 || status >= 500;
  if (status === 402 || advice === "false" || (!retriable && advice !== "true")) return null;
  const askedMs = retryAfterMsOf(headers);
  if (askedMs === null) return backoffMs;
  return askedMs <= MAX_WAIT_MS ? askedMs : null;
}

async function textOf({ wire, controller, release }: Answer): Promise<string> {
  try {
    return await wire.text();
  } catch (cause) {
    if (controller.signal.aborted) throw aborted(cause);
    throw new APIConnectionError("The answer was interrupted.", { cause });
  } finally {
    release();
  }
}

async function errorOf(answer: Answer): Promise<Error> {
  const { status, headers } = answer.wire;
  let stalled = false;
  const timer = setTimeout(() => {
    stalled = true;
    answer.controller.abort();
  }, ERROR_BODY_TIMEOUT_MS);
  let body: unknown = null;
  try {
    body = JSON.parse(await textOf(answer));
  } catch (error) {
    if (error instanceof APIUserAbortError && !stalled) return error;
    // The body is a proxy's page or was interrupted, so the status alone determines the error.
  } finally {
    clearTimeout(timer);
  }
  return errorFor(status, body, headers);
}

/**
 * Aborts the controller with the caller's signal, until released. `AbortSignal.any` is missing in some versions of
 * Node 20, and in others keeps memory for each request as long as the caller's signal lives.
 */
function follow(signal: AbortSignal | undefined, controller: AbortController): () => void {
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  return () => signal?.removeEventListener("abort", abort);
}

function aborted(cause?: unknown): APIUserAbortError {
  return new APIUserAbortError("The request was aborted.", { cause });
}
