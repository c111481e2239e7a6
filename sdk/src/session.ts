import { DEFAULT_STREAM_IDLE_TIMEOUT_MS } from "./core/deadline.ts";
import { Log } from "./core/log.ts";
import { Transport } from "./core/transport.ts";
import { sendByFetch } from "./core/wire.ts";

export { AuditExport } from "./audit/export.ts";
export { errorFor } from "./core/error-answers.ts";
export * from "./core/errors.ts";
export { retryAfterMsOf } from "./core/retry-after.ts";
export { ChatCompletionStream } from "./core/stream.ts";

/** Options of a transport for pages. */
export interface SessionTransportOptions {
  /** The address that the paths of chat completions and exports are appended to, absolute. */
  readonly baseURL: string;
  readonly fetch: typeof fetch;
}

/**
 * Opens a transport for the service's own pages. It sends no key: the session's cookie authenticates its requests. Requests are
 * not retried and wait for an answer without a time limit, but a stream may not be silent for long; exports resume after interruptions. This entry is not published, and
 * imports nothing that only Node has. Each page imports the parts that it uses, which keeps its first load small.
 */
export function openSessionTransport({ baseURL, fetch }: SessionTransportOptions): Transport {
  return new Transport({
    baseURL,
    authorization: () => null,
    log: new Log(console, "off"),
    timeoutMs: Number.POSITIVE_INFINITY,
    streamIdleTimeoutMs: DEFAULT_STREAM_IDLE_TIMEOUT_MS,
    maxRetries: 0,
    defaultHeaders: {},
    send: (request, signal) => sendByFetch(fetch, request, signal),
  });
}
