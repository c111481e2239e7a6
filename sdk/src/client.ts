import { isBrowser, readVariable } from "./core/environment.ts";
import { OstiaryError } from "./core/errors.ts";
import { Transport } from "./core/transport.ts";
import { Audit } from "./resources/audit.ts";
import { Chat } from "./resources/chat.ts";
import { Models } from "./resources/models.ts";

/** How a client is made. */
export interface ClientOptions {
  /** Default: the environment variable `OSTIARY_API_KEY`. */
  readonly apiKey?: string;
  /** With or without `/v1`. Default: `OSTIARY_BASE_URL`, else `http://127.0.0.1:8080`. */
  readonly baseURL?: string;
  /** Milliseconds until an answer begins. Default 600,000. */
  readonly timeout?: number;
  /** How often a request that may be repeated is. Default 2. */
  readonly maxRetries?: number;
  /** Sent with every request. */
  readonly defaultHeaders?: Readonly<Record<string, string>>;
  /** Default: the runtime's own. */
  readonly fetch?: typeof fetch;
  /** The operator's own name for the service: `ACME` makes the variables `ACME_API_KEY` and `ACME_BASE_URL`. */
  readonly service?: string;
  /** Keys belong on servers. Set this only where nobody else can read the page's key. */
  readonly dangerouslyAllowBrowser?: boolean;
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

  /** @throws {OstiaryError} there is no key, or this is a web page. */
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
    if (apiKey === undefined) {
      throw new OstiaryError(
        `There is no API key. Set the environment variable ${prefix}_API_KEY, or pass apiKey.`,
      );
    }
    this.baseURL = withVersion(
      options.baseURL?.trim() || readVariable(`${prefix}_BASE_URL`) || DEFAULT_BASE_URL,
    );
    const transport = new Transport({
      baseURL: this.baseURL,
      // In a closure, where no inspection of the client finds it.
      authorization: () => `Bearer ${apiKey}`,
      timeoutMs: options.timeout ?? DEFAULT_TIMEOUT_MS,
      maxRetries: options.maxRetries ?? DEFAULT_MAX_RETRIES,
      defaultHeaders: options.defaultHeaders ?? {},
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    });
    this.chat = new Chat(transport);
    this.models = new Models(transport);
    this.audit = new Audit(transport);
  }
}

function withVersion(address: string): string {
  if (!URL.canParse(address)) throw new OstiaryError(`The base URL is not a URL: ${address}`);
  const trimmed = address.replace(/\/+$/, "");
  return trimmed.endsWith("/v1") ? trimmed : `${trimmed}/v1`;
}
