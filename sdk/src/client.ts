import { isBrowser, readVariable } from "./core/environment.ts";
import { OstiaryError } from "./core/errors.ts";
import { Transport } from "./core/transport.ts";
import { Audit } from "./resources/audit.ts";
import { Chat } from "./resources/chat.ts";
import { Models } from "./resources/models.ts";

/** How a client is made. */
export interface ClientOptions {
  /** Default: the environment variable `OSTIARY_API_KEY`. Trimmed. */
  readonly apiKey?: string | undefined;
  /** With or without `/v1`. Default: `OSTIARY_BASE_URL`, else `http://127.0.0.1:8080`. */
  readonly baseURL?: string | undefined;
  /** Milliseconds until an answer begins, of each attempt. Default 600,000; `Infinity` for no limit. */
  readonly timeout?: number | undefined;
  /** How often a request is repeated, at most. Default 2. */
  readonly maxRetries?: number | undefined;
  /** Sent with every request. `Authorization` is always the client's own. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
  /** Default: the runtime's own. */
  readonly fetch?: typeof fetch | undefined;
  /** The operator's own name for the service: `ACME` makes the variables `ACME_API_KEY` and `ACME_BASE_URL`. */
  readonly service?: string | undefined;
  /** Keys belong on servers. Set this only where nobody else can read the page's key. */
  readonly dangerouslyAllowBrowser?: boolean | undefined;
}

const DEFAULT_BASE_URL = "http://127.0.0.1:8080";
const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_MAX_RETRIES = 2;

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
  readonly chat: Chat;
  readonly models: Models;
  readonly audit: Audit;
  /** Up to and with `/v1`. */
  readonly baseURL: string;

  /** @throws {OstiaryError} there is no key, an option is not valid, or this is a web page. */
  constructor(options: ClientOptions = {}) {
    if (isBrowser() && options.dangerouslyAllowBrowser !== true) {
      throw new OstiaryError(
        "This is a web page, whose visitors could read the API key. Call the service from your own backend instead.",
      );
    }
    const prefix = (options.service ?? "OSTIARY")
      .trim()
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_");
    const apiKey = options.apiKey?.trim() || readVariable(`${prefix}_API_KEY`);
    // No message holds what was given: it could be a key, and messages end up in logs.
    if (apiKey === undefined) {
      throw new OstiaryError(
        `There is no API key. Set the environment variable ${prefix}_API_KEY, or pass apiKey.`,
      );
    }
    // `fetch` would refuse it too, and quote it.
    if (!/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new OstiaryError(
        "The API key is malformed: it holds a space, a line end or a character beyond ASCII.",
      );
    }
    this.baseURL = withVersion(
      options.baseURL?.trim() || readVariable(`${prefix}_BASE_URL`) || DEFAULT_BASE_URL,
    );
    const transport = new Transport({
      baseURL: this.baseURL,
      // In a closure, where no inspection of the client finds it.
      authorization: () => `Bearer ${apiKey}`,
      timeoutMs: positive("timeout", options.timeout ?? DEFAULT_TIMEOUT_MS),
      maxRetries: notNegative("maxRetries", options.maxRetries ?? DEFAULT_MAX_RETRIES),
      defaultHeaders: options.defaultHeaders ?? {},
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    });
    this.chat = new Chat(transport);
    this.models = new Models(transport);
    this.audit = new Audit(transport);
  }
}

function withVersion(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new OstiaryError("The base URL is malformed: it must begin with http:// or https://.");
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new OstiaryError("The base URL may not hold a user, a password, a query or a fragment.");
  }
  const trimmed = url.href.replace(/\/+$/, "");
  return trimmed.endsWith("/v1") ? trimmed : `${trimmed}/v1`;
}

function positive(name: string, value: number): number {
  if (!(value > 0)) throw new OstiaryError(`${name} must be greater than 0.`);
  return value;
}

function notNegative(name: string, value: number): number {
  if (!(value >= 0)) throw new OstiaryError(`${name} must be 0 or greater.`);
  return value;
}
