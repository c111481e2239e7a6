import { aborted, forwardAbort, unlessAborted } from "./abort.ts";
import { type Answer, discard, errorOf, lateAnswer, type Outcome, wholeJson } from "./answer.ts";
import { APIPromise } from "./api-promise.ts";
import { checkTime, fromCaller, notNegative, objectOf, positive, withoutUnset } from "./checks.ts";
import type { ClientListeners, RequestEvent } from "./client-events.ts";
import { lastingProblem } from "./connection-problem.ts";
import { startTimer } from "./deadline.ts";
import { notFromService } from "./error-answers.ts";
import { APIConnectionError, OstiaryError } from "./errors.ts";
import { identified } from "./fields.ts";
import { checkedHeaders, type HeadersLike, IDEMPOTENCY_KEY, withoutSecrets } from "./headers.ts";
import type { Log } from "./log.ts";
import { withoutQuery } from "./path.ts";
import { pause } from "./pause.ts";
import { backoffOf, type RetriedCall, waitBefore, waitForEarlier } from "./retry.ts";
import type { FetchOptions, Send, WireAnswer, WireRequest } from "./wire.ts";

/** The client's settings that every request uses. */
export interface TransportSettings {
  /** The base URL, including `/v1`. */
  readonly baseURL: string;
  /** The `Authorization` header of an API's requests; `null` to send none. @throws {OstiaryError} there is no key or token for it. */
  readonly authorization: (api: Api) => string | null;
  readonly log: Log;
  readonly timeoutMs: number;
  readonly streamIdleTimeoutMs: number;
  readonly maxRetries: number;
  readonly defaultHeaders: HeadersLike;
  /** The `User-Agent` header; `null` to send the runtime's own. */
  readonly userAgent?: string | null;
  readonly fetchOptions?: FetchOptions | undefined;
  readonly listeners?: ClientListeners;
  readonly send: Send;
}

/** Parameters of a URL. A `Date` is sent in RFC 3339. Those that are `undefined` or `null` are left out. */
export type Query = Readonly<Record<string, string | number | boolean | Date | null | undefined>>;

/** Options of one request. */
export interface RequestOptions {
  /** Aborting it ends the request and its stream with {@link APIUserAbortError}. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds until the whole answer has arrived, or until a stream begins, for each attempt. `Infinity` for no limit. Default: the
   * client's.
   */
  readonly timeout?: number | undefined;
  /**
   * Milliseconds that a stream may be silent. The service sends a heartbeat every 15 seconds, which counts. `Infinity` for no limit.
   * Default: the client's.
   */
  readonly streamIdleTimeout?: number | undefined;
  /** The maximum number of retries. Default: the client's. */
  readonly maxRetries?: number | undefined;
  /** Headers that override the client's; `undefined` leaves those as they are. `Authorization` cannot be overridden. */
  readonly headers?: HeadersLike | undefined;
  /** Parameters that are added to the URL. */
  readonly query?: Query | undefined;
  /**
   * The key with which the service recognizes a repeated request: 1 to 255 visible ASCII characters. Default: a random one for each
   * `POST` that may be retried, except for streams and management requests. `null` sends none.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** Options of the runtime's `fetch`, added to the client's. The request is then sent with `fetch`, also on Node. */
  readonly fetchOptions?: FetchOptions | undefined;
}

/** Requests for models need an API key, management requests a management token; the audit log accepts either. */
export type Api = "models" | "audit" | "management";

/** The method, path and content of a request, independent of the base URL. */
export interface RequestTarget {
  readonly method: "GET" | "POST";
  /** The path below the base URL, with a leading slash. */
  readonly path: string;
  /** Default: derived from the path. The management API is beside `/v1`. */
  readonly api?: Api;
  readonly query?: Query;
  readonly body?: unknown;
  /** Whether the answer is a stream. It gets no idempotency key by default, because a request with one runs on after it was aborted. */
  readonly isStreamed?: boolean;
  /** The type of the answer, whatever the caller's headers are. Default: JSON. */
  readonly accept?: string;
  /** Whether sending the request again does no harm, although it is a `POST`: its body contains an idempotency key, for example. */
  readonly isIdempotent?: boolean;
  /** Whether an answer with an error is to be read, as a batch of calls is, rather than thrown. */
  readonly readsErrors?: boolean;
}

/** A request with all that is needed to send it, also repeatedly. */
interface Call extends RetriedCall {
  readonly target: RequestTarget;
  readonly options: RequestOptions;
  readonly request: WireRequest;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly streamIdleTimeoutMs: number;
}

/** An answer's JSON, with its request id in a property that is not enumerable. */
export type Identified<Body> = Body & { readonly _request_id: string | null };

/** Sends requests and retries them. */
export class Transport {
  readonly #settings: TransportSettings;
  readonly #defaultHeaders: Readonly<Record<string, string>>;

  constructor(settings: TransportSettings) {
    this.#settings = settings;
    this.#defaultHeaders = {
      ...checkedHeaders({ "user-agent": settings.userAgent }),
      ...checkedHeaders(settings.defaultHeaders),
    };
  }

  /**
   * Resolves with a successful answer whose body has not been read.
   *
   * @throws {APIError} the service answered with an error.
   * @throws {APIConnectionError} no answer came.
   * @throws {APIUserAbortError} the caller's signal was aborted.
   * @throws {OstiaryError} the request cannot be sent as it is: a parameter or option is not valid.
   */
  async send(target: RequestTarget, options: RequestOptions = {}): Promise<Answer> {
    // An invalid request fails here with its own error, not as a failed connection.
    const call = fromCaller(() => this.#callOf(target, options));
    return this.#deliver(call, 0);
  }

  /** Returns a promise of the answer's JSON, or of the result of `read`. */
  request<Body>(target: RequestTarget, options?: RequestOptions): APIPromise<Body> {
    return new APIPromise<Body>(this.send(target, options), (answer) => this.read<Body>(answer));
  }

  /**
   * Returns the JSON of an answer that has begun.
   *
   * @throws {APIConnectionError} the answer was interrupted; {@link APIError}: it is not JSON of an object. Neither is retried, because the
   *   service has done the work, unless the request has an idempotency key.
   */
  async read<Body>(answer: Answer): Promise<Identified<Body>> {
    const body = await wholeJson(answer);
    if (typeof body !== "object" || body === null) throw notFromService(answer.wire);
    // The rest relies on the service's contract.
    return identified(body, answer.wire.header("x-request-id")) as Identified<Body>;
  }

  /** Sends a request until it succeeds, cannot succeed, or has had all of its attempts. */
  async #deliver(call: Call, firstAttempt: number): Promise<Answer> {
    const { method } = call.target;
    const path = withoutQuery(call.target.path);
    let attemptedAt = Date.now();
    for (let attempt = firstAttempt; ; ) {
      const outcome = await this.#attempt(call, attempt);
      if (!(outcome instanceof APIConnectionError) && outcome.wire.ok) return outcome;
      const conflict = await conflictOf(outcome, call, attemptedAt);
      const pollMs = conflict?.waitMs ?? null;
      const waitMs = pollMs ?? (attempt < call.maxRetries ? waitBefore(outcome, attempt, call) : null);
      if (waitMs === null) {
        if (call.target.readsErrors === true && !(outcome instanceof APIConnectionError)) return outcome;
        throw conflict?.error ?? (await errorOf(outcome));
      }
      // Asking for the answer to an earlier attempt is not another attempt.
      if (pollMs === null) {
        attempt++;
        attemptedAt = Date.now();
      }
      discard(outcome);
      const retry = { method, path, attempt, waitMs: Math.round(waitMs) };
      this.#settings.log.write("info", "trying again", () => retry);
      await pause(waitMs, call.options.signal);
    }
  }

  async #attempt(call: Call, attempt: number): Promise<Outcome> {
    const { log, listeners } = this.#settings;
    const event: RequestEvent = {
      method: call.target.method,
      path: withoutQuery(call.target.path),
      attempt,
      idempotencyKey: call.idempotencyKey,
    };
    log.write("debug", "request", () => ({ ...event, headers: withoutSecrets(call.request.headers) }));
    listeners?.emit("request", event);
    const startedAt = Date.now();
    const outcome = await this.#exchange(call, attempt);
    const error = outcome instanceof APIConnectionError ? outcome : null;
    const wire = outcome instanceof APIConnectionError ? null : outcome.wire;
    const seen = {
      status: wire?.status ?? null,
      requestId: wire?.header("x-request-id") ?? null,
      elapsedMs: Date.now() - startedAt,
    };
    log.write("debug", "answer", () => ({ ...event, ...seen, error: error?.name ?? null }));
    listeners?.emit("response", { ...event, ...seen, error });
    return outcome;
  }

  /** Sends a request once. */
  async #exchange(call: Call, attempt: number): Promise<Outcome> {
    const { timeoutMs, streamIdleTimeoutMs } = call;
    const { signal } = call.options;
    if (signal?.aborted) throw aborted(signal);
    const controller = new AbortController();
    const release = forwardAbort(signal, controller);
    const deadlineMs = Date.now() + timeoutMs;
    let timedOut = false;
    const stop = startTimer(timeoutMs, () => {
      timedOut = true;
      controller.abort();
    });
    try {
      const wire = await this.#sendUnlessAborted(call.request, controller.signal);
      return this.#answerOf(call, attempt, {
        wire,
        controller,
        release,
        timeoutMs,
        deadlineMs,
        streamIdleTimeoutMs,
      });
    } catch (cause) {
      release();
      if (signal?.aborted) throw aborted(signal);
      if (timedOut) return lateAnswer(timeoutMs, cause);
      // The request cannot be sent as it is: no other attempt would help.
      if (cause instanceof OstiaryError && cause.constructor === OstiaryError) throw cause;
      const reason = lastingProblem(cause);
      const problem = `The service at ${this.#settings.baseURL} cannot be reached`;
      return new APIConnectionError(reason === null ? `${problem}.` : `${problem}: ${reason}`, { cause });
    } finally {
      stop();
    }
  }

  /** Sends without waiting for a `fetch` that ignores its signal. */
  #sendUnlessAborted(request: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
    const sending = this.#settings.send(request, signal);
    return unlessAborted(sending, signal).catch((error) => {
      sending.then((late) => late.discard()).catch(() => {});
      throw error;
    });
  }

  /** Only requests with an idempotency key are repeated once their answer has begun: the service has kept that answer. */
  #answerOf(call: Call, attempt: number, begun: Omit<Answer, "repeat">): Answer {
    const canRepeat = call.idempotencyKey !== null && attempt < call.maxRetries;
    const repeat = async () => {
      await pause(backoffOf(attempt), call.options.signal);
      return this.#deliver(call, attempt + 1);
    };
    return { ...begun, repeat: canRepeat ? repeat : null };
  }

  #callOf(target: RequestTarget, options: RequestOptions): Call {
    objectOf("options", options);
    const api = target.api ?? (target.path.startsWith("/audit") ? "audit" : "models");
    const settings = this.#settings;
    const maxRetries = notNegative("maxRetries", options.maxRetries ?? settings.maxRetries);
    const request = this.#wireRequestOf(target, options, api, maxRetries > 0);
    const idempotencyKey = request.headers[IDEMPOTENCY_KEY] ?? null;
    return {
      target,
      options,
      request,
      api,
      idempotencyKey,
      isRepeatable: target.method === "GET" || idempotencyKey !== null || target.isIdempotent === true,
      maxRetries,
      timeoutMs: positive("timeout", options.timeout ?? settings.timeoutMs),
      streamIdleTimeoutMs: positive(
        "streamIdleTimeout",
        options.streamIdleTimeout ?? settings.streamIdleTimeoutMs,
      ),
    };
  }

  #wireRequestOf(target: RequestTarget, options: RequestOptions, api: Api, mayRetry: boolean): WireRequest {
    const { baseURL, authorization, fetchOptions } = this.#settings;
    const secret = authorization(api);
    const address = (api === "management" ? baseURL.replace(/\/v1$/, "") : baseURL) + target.path;
    const getsRandomKey =
      target.method === "POST" && api === "models" && target.isStreamed !== true && mayRetry;
    const { idempotencyKey } = options;
    return {
      url: withQuery(
        address,
        [target.query, options.query].flatMap((query) => withoutUnset("query", query ?? {})),
      ),
      method: target.method,
      headers: {
        accept: "application/json",
        ...(target.body === undefined ? {} : { "content-type": "application/json" }),
        ...(idempotencyKey === undefined && getsRandomKey ? { [IDEMPOTENCY_KEY]: newIdempotencyKey() } : {}),
        ...checkedHeaders({ [IDEMPOTENCY_KEY]: idempotencyKey }),
        ...this.#defaultHeaders,
        ...checkedHeaders(options.headers ?? {}),
        ...(target.accept === undefined ? {} : { accept: target.accept }),
        ...(secret === null ? {} : { authorization: secret }),
      },
      body: target.body === undefined ? null : JSON.stringify(target.body),
      fetchOptions:
        fetchOptions || options.fetchOptions ? { ...fetchOptions, ...options.fetchOptions } : null,
    };
  }
}

function withQuery(address: string, given: readonly [string, NonNullable<Query[string]>][]): string {
  if (given.length === 0) return address;
  const url = new URL(address);
  for (const [name, value] of given) {
    checkTime(name, value);
    url.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return url.href;
}

/** A random key, made once for all attempts of a call. Pages without TLS have no `randomUUID`, which is much faster. */
export function newIdempotencyKey(): string {
  if (typeof crypto.randomUUID === "function") return `ostiary-${crypto.randomUUID()}`;
  return `ostiary-${Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-")}`;
}

/**
 * Reads a 409 of a request with an idempotency key. The service may still be answering an earlier attempt of this call. Then `waitMs` is the
 * time to wait before asking for that answer; it is `null` if there is no such attempt, or its `timeout` would have run out by then.
 *
 * @param attemptedAt The time of the last attempt, as of `Date.now()`.
 * @returns `null` for any other outcome.
 */
async function conflictOf(
  outcome: Outcome,
  { idempotencyKey, maxRetries, timeoutMs }: Call,
  attemptedAt: number,
): Promise<{ readonly error: Error; readonly waitMs: number | null } | null> {
  if (outcome instanceof APIConnectionError || outcome.wire.status !== 409) return null;
  if (idempotencyKey === null || maxRetries === 0) return null;
  const error = await errorOf(outcome);
  return { error, waitMs: waitForEarlier(error, attemptedAt + timeoutMs - Date.now()) };
}
