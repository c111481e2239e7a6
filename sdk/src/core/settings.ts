import type { ClientOptions } from "../client.ts";
import { fromCaller, functionOf, notNegative, positive } from "./checks.ts";
import type { ClientListeners } from "./client-events.ts";
import { DEFAULT_STREAM_IDLE_TIMEOUT_MS } from "./deadline.ts";
import { isBrowser, readIfPermitted, readVariable, unsetError } from "./environment.ts";
import { OstiaryError } from "./errors.ts";
import { Log, logLevelOf } from "./log.ts";
import { isFetchReplaced, nodeHttp } from "./node-http.ts";
import { type Api, Transport } from "./transport.ts";
import { userAgentOf } from "./version.ts";
import { type Send, sendByFetch } from "./wire.ts";

const DEFAULT_BASE_URL = "http://127.0.0.1:8080";
const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_MAX_RETRIES = 2;

/** Builds a transport from a client's options. Error messages never contain the given values, which could be a key and end up in logs. */
export function transportOf(
  options: ClientOptions,
  prefix: string,
  secret: (api: Api) => string,
  listeners?: ClientListeners,
): { readonly transport: Transport; readonly baseURL: string } {
  const variable = `${prefix}_BASE_URL`;
  const given = fromCaller(() => options.baseURL?.trim());
  const address = given || readIfPermitted(variable);
  // The service at the default address could be another one, which would get the key.
  if (address === null) throw unsetError("base URL", variable, "baseURL");
  const baseURL = withVersion(address ?? DEFAULT_BASE_URL, given ? "" : ` in ${variable}`);
  const level = fromCaller(() => logLevelOf(options.logLevel ?? readVariable(`${prefix}_LOG_LEVEL`)));
  const transport = new Transport({
    baseURL,
    // A closure hides the secret from inspection of the client.
    authorization: (api) => `Bearer ${secret(api)}`,
    log: new Log(options.logger ?? console, level),
    timeoutMs: positive("timeout", options.timeout ?? DEFAULT_TIMEOUT_MS),
    streamIdleTimeoutMs: positive(
      "streamIdleTimeout",
      options.streamIdleTimeout ?? DEFAULT_STREAM_IDLE_TIMEOUT_MS,
    ),
    maxRetries: notNegative("maxRetries", options.maxRetries ?? DEFAULT_MAX_RETRIES),
    defaultHeaders: options.defaultHeaders ?? {},
    userAgent: userAgentOf(options.appInfo),
    fetchOptions: options.fetchOptions,
    ...(listeners === undefined ? {} : { listeners }),
    send: sendOf(options.fetch),
  });
  return { transport, baseURL };
}

/** Uses the given `fetch`, or else the runtime's best client at the time of the request. */
function sendOf(given: typeof fetch | null | undefined): Send {
  if (given != null) {
    functionOf("fetch", given);
    return (request, signal) => sendByFetch(given, request, signal);
  }
  const byHttp = nodeHttp();
  // It is called without a receiver, because some runtimes' `fetch` rejects one.
  const own: typeof fetch = (input, init) => fetch(input, init);
  return (request, signal) =>
    byHttp === null || request.fetchOptions !== null || isFetchReplaced()
      ? sendByFetch(own, request, signal)
      : byHttp(request, signal);
}

/** The prefix of the environment variables. */
export function prefixOf(service: string | undefined): string {
  return (fromCaller(() => service?.trim()) || "OSTIARY").toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
}

/** The given key or token, or the variable's; `undefined` without either. */
export function secretOf(what: string, given: string | undefined, variable: string): string | undefined {
  // One that is given but empty does not give way to the variable's, which may be another account's.
  const secret = fromCaller(() => given?.trim()) ?? readVariable(variable);
  // `fetch` would refuse most of these too, with the value in its message. Some shells and files leave quotation marks.
  if (secret !== undefined && !/^[!#-&(-~]+$/.test(secret)) {
    throw new OstiaryError(
      `The ${what}${given == null ? ` in ${variable}` : ""} is malformed: it is empty, or contains a space, a line break, a quotation mark or a non-ASCII character.`,
    );
  }
  return secret;
}

/** The error of a client that needs a management token. */
export function missingToken(prefix: string): OstiaryError {
  return unsetError("management token", `${prefix}_MANAGEMENT_TOKEN`, "managementToken");
}

/** @throws {OstiaryError} this is a browser or an app, and the options do not allow it. */
export function refuseBrowsers(options: ClientOptions): void {
  if (fromCaller(() => options.dangerouslyAllowBrowser) === true || !isBrowser()) return;
  throw new OstiaryError(
    "The client does not run in a browser or an app, because every user could read the API key. Call the service from your own backend. In a test, set dangerouslyAllowBrowser.",
  );
}

/** @param place names the variable that has the address, in messages. */
function withVersion(address: string, place: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new OstiaryError(
      `The base URL${place} is malformed: it must begin with http:// or https://, without quotation marks, and have no port above 65535.`,
    );
  }
  // An empty query or fragment has its mark in the address only, and would swallow the path.
  if (url.username !== "" || url.password !== "" || /[?#]/.test(url.href)) {
    throw new OstiaryError(`The base URL${place} must have no user, password, query or fragment.`);
  }
  const trimmed = url.href.replace(/\/+$/, "");
  return trimmed.endsWith("/v1") ? trimmed : `${trimmed}/v1`;
}
