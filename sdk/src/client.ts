import type { APIPromise } from "./core/api-promise.ts";
import { fromCaller, objectOf, withoutUnset } from "./core/checks.ts";
import { type ClientEvents, ClientListeners } from "./core/client-events.ts";
import { unsetError } from "./core/environment.ts";
import { OstiaryError } from "./core/errors.ts";
import { isFields } from "./core/fields.ts";
import type { HeadersLike } from "./core/headers.ts";
import type { Logger, LogLevel } from "./core/log.ts";
import { checkedPath } from "./core/path.ts";
import { prefixOf, refuseBrowsers, secretOf, transportOf } from "./core/settings.ts";
import type { Api, RequestOptions, Transport } from "./core/transport.ts";
import { openTrpc, type Trpc } from "./core/trpc.ts";
import type { AppInfo } from "./core/version.ts";
import type { FetchOptions } from "./core/wire.ts";
import { Audit } from "./resources/audit.ts";
import { Chat } from "./resources/chat.ts";
import { Embeddings } from "./resources/embeddings.ts";
import { AccountResource, Credits, Keys, Usage } from "./resources/management.ts";
import { Models } from "./resources/models.ts";

/** Options of a client. */
export interface ClientOptions {
  /** The API key. Default: the environment variable `OSTIARY_API_KEY`, trimmed. */
  readonly apiKey?: string | undefined;
  /**
   * The management token, which is required to create, rotate and revoke keys. Default: `OSTIARY_MANAGEMENT_TOKEN`. A client with a token and no API key can
   * manage keys and read the audit log.
   */
  readonly managementToken?: string | undefined;
  /** The address of the service, with or without `/v1`. Default: `OSTIARY_BASE_URL`, else `http://127.0.0.1:8080`. */
  readonly baseURL?: string | undefined;
  /**
   * Milliseconds until the whole answer has arrived, or until a stream begins, for each attempt. Default 600,000; `Infinity` for no
   * limit.
   */
  readonly timeout?: number | undefined;
  /**
   * Milliseconds that a stream may be silent. The service sends a heartbeat every 15 seconds, which counts. Default 120,000; `Infinity`
   * for no limit.
   */
  readonly streamIdleTimeout?: number | undefined;
  /** The maximum number of retries of a request, 0 or more. Default 2. */
  readonly maxRetries?: number | undefined;
  /** Headers for every request. `Authorization` cannot be overridden. */
  readonly defaultHeaders?: HeadersLike | undefined;
  /**
   * Sends requests. Default: the runtime's `fetch`; on Node its HTTP client, with the proxies of `HTTPS_PROXY` and `HTTP_PROXY`, unless `fetch` was
   * replaced or given another dispatcher.
   */
  readonly fetch?: typeof fetch | undefined;
  /** Options of the runtime's `fetch` for every request. Requests are then sent with `fetch`, also on Node. */
  readonly fetchOptions?: FetchOptions | undefined;
  /** The application that uses the client, which is added to the `User-Agent` header. */
  readonly appInfo?: AppInfo | undefined;
  /** Where the client logs. Default: `console`. */
  readonly logger?: Logger | undefined;
  /** How much the client logs. Default: `OSTIARY_LOG_LEVEL`, else `warn`. No key, prompt or answer is ever logged. */
  readonly logLevel?: LogLevel | undefined;
  /** The operator's name for the service: with `ACME`, the variables are `ACME_API_KEY` and `ACME_BASE_URL`. */
  readonly service?: string | undefined;
  /** Allows the client in a browser or an app. Set this only if no other person can read the key. */
  readonly dangerouslyAllowBrowser?: boolean | undefined;
}

/**
 * A client of the service.
 *
 * @example
 * ```ts
 * import Ostiary from "ostiary";
 *
 * const client = new Ostiary(); // reads OSTIARY_API_KEY
 * const answer = await client.chat.completions.create({
 *   model: "sandbox/echo",
 *   messages: [{ role: "user", content: "Hello!" }],
 * });
 * console.log(answer.choices[0]?.message.content);
 * ```
 */
export class Ostiary {
  /** Chat with models. */
  readonly chat: Chat;
  /** The models of the catalog. */
  readonly models: Models;
  /** Vectors of texts. */
  readonly embeddings: Embeddings;
  /** The account's audit log: an entry for each request. */
  readonly audit: Audit;
  /** The account's API keys. */
  readonly keys: Keys;
  /** Requests, tokens and cost. */
  readonly usage: Usage;
  /** The account itself, with its limits. */
  readonly account: AccountResource;
  /** The account's credit. */
  readonly credits: Credits;
  /** Every procedure that keys and management tokens may call: `client.trpc.account.limits.query()`. */
  readonly trpc: Trpc;
  /** The address of the service, including `/v1`. */
  readonly baseURL: string;
  readonly #options: ClientOptions;
  /** The secrets and the address, from the options or the environment as it was when the client was made. */
  readonly #resolved: ClientOptions;
  readonly #listeners: ClientListeners;
  readonly #transport: Transport;

  /** @throws {OstiaryError} there is no key, an option is not valid, or this is a browser or an app. */
  constructor(options: ClientOptions = {}) {
    refuseBrowsers(options);
    this.#options = givenOptions(options);
    this.#listeners = new ClientListeners();
    const prefix = prefixOf(options.service);
    const keyVariable = `${prefix}_API_KEY`;
    const apiKey = secretOf("API key", options.apiKey, keyVariable);
    const token = secretOf("management token", options.managementToken, `${prefix}_MANAGEMENT_TOKEN`);
    const noKey = () => unsetError("API key", keyVariable, "apiKey");
    if (apiKey === undefined && token === undefined) throw noKey();
    const secretFor = (api: Api): string => {
      const secret = api === "management" ? (token ?? apiKey) : api === "audit" ? (apiKey ?? token) : apiKey;
      if (secret === undefined) throw noKey();
      return secret;
    };
    const { transport, baseURL } = transportOf(options, prefix, secretFor, this.#listeners);
    this.#resolved = { apiKey, managementToken: token, baseURL };
    this.baseURL = baseURL;
    this.#transport = transport;
    this.trpc = openTrpc(transport);
    this.chat = new Chat(transport);
    this.models = new Models(transport);
    this.embeddings = new Embeddings(transport);
    this.audit = new Audit(transport, this.trpc);
    this.keys = new Keys(this.trpc);
    this.usage = new Usage(this.trpc);
    this.account = new AccountResource(this.trpc);
    this.credits = new Credits(this.trpc);
  }

  /**
   * A client with the same options, except for those given, and with the listeners that this client has now. It reads the environment
   * only for another `service`.
   *
   * @example
   * ```ts
   * const longRunning = client.withOptions({ timeout: 3_600_000, maxRetries: 5 });
   * console.log((await longRunning.models.list()).data.length);
   * ```
   */
  withOptions(options: ClientOptions): Ostiary {
    const given = givenOptions(options);
    const resolved = given.service === undefined ? givenOptions(this.#resolved) : {};
    const copy = clientWith({ ...resolved, ...this.#options, ...given });
    copy.#listeners.addAll(this.#listeners);
    return copy;
  }

  /**
   * Adds a listener for requests and their outcomes: one event of each for each attempt, without keys, prompts and answers.
   *
   * @example
   * ```ts
   * client.on("response", ({ path, status, elapsedMs }) => console.log(path, status, elapsedMs));
   * await client.models.list();
   * ```
   *
   * @returns the client.
   */
  on<Name extends keyof ClientEvents>(name: Name, listener: (...details: ClientEvents[Name]) => void): this {
    this.#listeners.add(name, listener);
    return this;
  }

  /** Removes a listener. @returns the client. */
  off<Name extends keyof ClientEvents>(name: Name, listener: (...details: ClientEvents[Name]) => void): this {
    this.#listeners.remove(name, listener);
    return this;
  }

  /**
   * Sends a `GET` request to a path below `/v1`, such as `/models`, for which the client has no method.
   *
   * @example
   * ```ts
   * const { data } = await client.get<{ readonly data: readonly { readonly id: string }[] }>("/models");
   * console.log(data.length);
   * ```
   *
   * @returns the JSON of the answer, whose type you state.
   * @throws {OstiaryError} the path does not begin with a slash or leaves `/v1`.
   */
  get<Body>(path: string, options: RequestOptions = {}): APIPromise<Body> {
    return this.#transport.request<Body>({ method: "GET", path: checkedPath(path) }, options);
  }

  /**
   * Sends a `POST` request with a JSON body to a path below `/v1`. Use `asResponse` to read an answer that is not JSON.
   *
   * @returns the JSON of the answer, whose type you state.
   * @throws {OstiaryError} the path does not begin with a slash or leaves `/v1`, or the body is not one of JSON, such as a form or a file.
   */
  post<Body>(path: string, options: RequestOptions & { readonly body?: unknown } = {}): APIPromise<Body> {
    const { body, ...others } = objectOf("options", options);
    // In JSON, a form or a file would be an empty object.
    if (!/ (Array|Boolean|Null|Number|Object|String|Undefined)\]$/.test(Object.prototype.toString.call(body)))
      throw new OstiaryError("body must be a value of JSON. Send forms and files with `fetch`.");
    const target = { method: "POST", path: checkedPath(path), body, isStreamed: isStream(body) } as const;
    return this.#transport.request<Body>(target, others);
  }
}

/** The class does not name itself: a bundler would then rename it, also in what a program prints. */
function clientWith(options: ClientOptions): Ostiary {
  return new Ostiary(options);
}

/** The options without those that are `undefined` or `null`. */
function givenOptions(options: ClientOptions): ClientOptions {
  return fromCaller(() => Object.fromEntries(withoutUnset("options", options)));
}

function isStream(body: unknown): boolean {
  return isFields(body) && body.stream === true;
}
