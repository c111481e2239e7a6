import type { ErrorCode } from "../../../../sdk/src/contract/error-codes.ts";
import { SANDBOX_MAX_CONCURRENCY } from "../../catalog/catalog.ts";
import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import { Failure } from "../../errors/failure.ts";
import { type Dialect, type DialectDefinition, type DialectParts, UpstreamRefused } from "../dialect.ts";
import { openAiDialect } from "../openai/index.ts";
import { createSandboxTransport } from "./sandbox-transport.ts";

/** Models that need no provider: they answer in process. */
export const sandbox: DialectDefinition = {
  name: "sandbox",
  settings: { timeouts: UPSTREAM_SETTINGS.timeouts },
  isSandbox: true,
  fixed: { baseUrl: "sandbox:", maxConcurrency: SANDBOX_MAX_CONCURRENCY },
  open: sandboxDialect,
};

const RETRY_AFTER_MS = 1_000;

/**
 * Statuses that the sandbox simulates as errors of the service itself. Other statuses are handled as those of any upstream.
 */
const CODES: Readonly<Record<number, ErrorCode>> = {
  401: "invalid_api_key",
  402: "credit_balance_exhausted",
  403: "permission_denied",
  404: "not_found",
  408: "request_timeout",
  409: "conflict",
  413: "request_too_large",
  415: "unsupported_media_type",
  429: "rate_limit_exceeded",
  502: "upstream_error",
  503: "server_is_overloaded",
  504: "upstream_timeout",
};

/** The dialect of the sandbox models. */
function sandboxDialect({ now, monotonicMs }: DialectParts): Dialect {
  const { own, converse, embed } = openAiDialect(createSandboxTransport({ now }), monotonicMs);
  return {
    own: own && { wire: own.wire, forward: (call) => own.forward(call).catch(throwAsService) },
    converse: (call) => converse(call).catch(throwAsService),
    embed: (call) => embed(call).catch(throwAsService),
  };
}

function throwAsService(thrown: unknown): never {
  if (!(thrown instanceof UpstreamRefused)) throw thrown;
  const { status } = thrown;
  const code = CODES[status];
  if (code === undefined) throw thrown;
  const details = status === 429 || status === 503 ? { retryAfterMs: RETRY_AFTER_MS } : {};
  throw new UpstreamRefused(
    status,
    new Failure(code, `The sandbox simulates status ${status}, as the message requested.`, details),
  );
}
