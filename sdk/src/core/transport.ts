import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIUserAbortError,
  errorFor,
  retryAfterMsOf,
} from "./errors.ts";

/** What every request needs to know of the client. */
export interface TransportSettings {
  /** Up to and with `/v1`. */
  readonly baseURL: string;
  readonly authorization: () => string;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly defaultHeaders: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
}

/** Set for one request. */
export interface RequestOptions {
  /** Aborting it ends the request, its stream included, with {@link APIUserAbortError}. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the answer begins. Default: the client's. */
  readonly timeout?: number;
  /** Default: the client's. */
  readonly maxRetries?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RequestTarget {
  readonly method: "GET" | "POST";
  /** Below the base URL, with a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

const FIRST_BACKOFF_MS = 500;
const LAST_BACKOFF_MS = 8_000;
/** Who is asked to wait longer than this is better told so. */
const LONGEST_WAIT_MS = 60_000;

/** Sends requests, and sends them again where that can help. */
export class Transport {
  readonly #settings: TransportSettings;

  constructor(settings: TransportSettings) {
    this.#settings = settings;
  }

  /**
   * Resolves with a successful answer whose body has not been read.
   *
   * @throws {APIError} the service answered with an error.
   * @throws {APIConnectionError} no answer came.
   * @throws {APIUserAbortError} the caller's signal was aborted.
   */
  async send(target: RequestTarget, options: RequestOptions = {}): Promise<Response> {
    const maxRetries = options.maxRetries ?? this.#settings.maxRetries;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(target, options);
      if (outcome instanceof Response && outcome.ok) return outcome;
      const waitMs = attempt < maxRetries ? waitBefore(outcome, attempt) : null;
      if (waitMs === null) throw outcome instanceof Response ? await errorOf(outcome) : outcome;
      // Frees the connection. Not awaited: what clones answers may hold the body open.
      if (outcome instanceof Response) outcome.body?.cancel().catch(() => {});
      await pause(waitMs, options.signal);
    }
  }

  /** The answer's JSON. */
  async json<Body>(target: RequestTarget, options?: RequestOptions): Promise<Body> {
    const response = await this.send(target, options);
    // The service is trusted to keep its contract.
    return withRequestId((await response.json()) as Body, response.headers);
  }

  async #attempt(target: RequestTarget, options: RequestOptions): Promise<Response | APIConnectionError> {
    const { signal } = options;
    if (signal?.aborted) throw new APIUserAbortError("The request was aborted.");
    const timer = new AbortController();
    const timeoutMs = options.timeout ?? this.#settings.timeoutMs;
    const timeout = setTimeout(() => timer.abort(), timeoutMs);
    try {
      return await this.#settings.fetch(this.#url(target), {
        method: target.method,
        headers: this.#headers(target, options),
        body: target.body === undefined ? null : JSON.stringify(target.body),
        signal: signal === undefined ? timer.signal : AbortSignal.any([signal, timer.signal]),
        redirect: "error",
      });
    } catch (cause) {
      if (signal?.aborted) throw new APIUserAbortError("The request was aborted.", { cause });
      if (timer.signal.aborted) {
        return new APIConnectionTimeoutError(`No answer came within ${timeoutMs} ms.`, { cause });
      }
      return new APIConnectionError(`The service at ${this.#settings.baseURL} can't be reached.`, { cause });
    } finally {
      clearTimeout(timeout);
    }
  }

  #url({ path, query = {} }: RequestTarget): string {
    const url = new URL(this.#settings.baseURL + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return url.href;
  }

  #headers(target: RequestTarget, options: RequestOptions): Record<string, string> {
    return {
      accept: "application/json",
      ...(target.body === undefined ? {} : { "content-type": "application/json" }),
      ...this.#settings.defaultHeaders,
      ...options.headers,
      authorization: this.#settings.authorization(),
    };
  }
}

/** Milliseconds to wait before the next attempt, or `null` when none can help. */
function waitBefore(outcome: Response | APIConnectionError, attempt: number): number | null {
  const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** attempt, LAST_BACKOFF_MS) * (1 - Math.random() * 0.25);
  if (!(outcome instanceof Response)) return backoffMs;
  const advice = outcome.headers.get("x-should-retry");
  const { status } = outcome;
  const retriable = status === 408 || status === 429 || status >= 500;
  if (status === 402 || advice === "false" || (!retriable && advice !== "true")) return null;
  const askedMs = retryAfterMsOf(outcome.headers);
  if (askedMs === null) return backoffMs;
  return askedMs <= LONGEST_WAIT_MS ? askedMs : null;
}

async function errorOf(response: Response): Promise<Error> {
  const text = await response.text().catch(() => "");
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's page: the status has to speak for itself.
  }
  return errorFor(response.status, body, response.headers);
}

function pause(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(new APIUserAbortError("The request was aborted."));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, waitMs);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Puts the request id beside the answer, where it is found by who looks for it and printed by nobody. */
function withRequestId<Body>(body: Body, headers: Headers): Body {
  if (typeof body !== "object" || body === null) return body;
  return Object.defineProperty(body, "_request_id", {
    value: headers.get("x-request-id"),
    enumerable: false,
  });
}
