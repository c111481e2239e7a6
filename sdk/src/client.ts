import { OstiaryError } from "./core/errors.ts";
import type { Logger, LogLevel } from "./core/log.ts";
import { prefixOf, refuseWebPages, secretOf, transportOf } from "./core/settings.ts";
import { openTrpc, type Trpc } from "./core/trpc.ts";
import { Audit } from "./resources/audit.ts";
import { Chat } from "./resources/chat.ts";
import { Embeddings } from "./resources/embeddings.ts";
import { AccountResource, Credits, Keys, Usage } from "./resources/management.ts";
import { Models } from "./resources/models.ts";

/** Options of a client. */
export interface ClientOptions {
  /** Default: the environment variable `OSTIARY_API_KEY`, trimmed. */
  readonly apiKey?: string | undefined;
  /**
   * Required to create, rotate and revoke keys. Default: `OSTIARY_MANAGEMENT_TOKEN`. A client with a token and no API key can
   * manage keys and read the audit log.
   */
  readonly managementToken?: string | undefined;
  /** With or without `/v1`. Default: `OSTIARY_BASE_URL`, else `http://127.0.0.1:8080`. */
  readonly baseURL?: string | undefined;
  /** Milliseconds until an answer begins, for each attempt. Default 600,000; `Infinity` for no limit. */
  readonly timeout?: number | undefined;
  /** The maximum number of retries. Default 2. */
  readonly maxRetries?: number | undefined;
  /** Headers for every request. `Authorization` cannot be overridden. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
  /** Default: the runtime's `fetch`; on Node its HTTP client, unless `fetch` was replaced or a proxy was set. */
  readonly fetch?: typeof fetch | undefined;
  /** Default: `console`. */
  readonly logger?: Logger | undefined;
  /** Default: `OSTIARY_LOG_LEVEL`, else `warn`. No key, prompt or answer is ever logged. */
  readonly logLevel?: LogLevel | undefined;
  /** The operator's name for the service: with `ACME`, the variables are `ACME_API_KEY` and `ACME_BASE_URL`. */
  readonly service?: string | undefined;
  /** Allows the client in a web page. Set this only if no other person can read the page's key. */
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
  readonly chat: Chat;
  readonly models: Models;
  readonly embeddings: Embeddings;
  readonly audit: Audit;
  readonly keys: Keys;
  readonly usage: Usage;
  readonly account: AccountResource;
  readonly credits: Credits;
  /** Every procedure that keys and management tokens may call: `client.trpc.account.limits.query()`. */
  readonly trpc: Trpc;
  /** Includes `/v1`. */
  readonly baseURL: string;

  /** @throws {OstiaryError} there is no key, an option is not valid, or this is a web page. */
  constructor(options: ClientOptions = {}) {
    refuseWebPages(options);
    const prefix = prefixOf(options.service);
    const apiKey = secretOf("API key", options.apiKey, `${prefix}_API_KEY`);
    const token = secretOf("management token", options.managementToken, `${prefix}_MANAGEMENT_TOKEN`);
    if (apiKey === undefined && token === undefined) {
      throw new OstiaryError(
        `No API key is set. Set the environment variable ${prefix}_API_KEY, or pass apiKey.`,
      );
    }
    const { transport, baseURL } = transportOf(options, prefix, (plane) => {
      const secret =
        plane === "management" ? (token ?? apiKey) : plane === "audit" ? (apiKey ?? token) : apiKey;
      if (secret !== undefined) return secret;
      throw new OstiaryError(
        `Requests to models need an API key. Set the environment variable ${prefix}_API_KEY, or pass apiKey.`,
      );
    });
    this.baseURL = baseURL;
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
}
