import { ERROR_CODES, type ErrorCode, type ErrorEnvelope } from "../../../sdk/src/contract/error-codes.ts";
import type { JsonObject } from "../json/json.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import type { ResponseHeaders } from "./response-headers.ts";

export type { ErrorCode, ErrorEnvelope };

/** What a failure may carry besides its code and message. */
interface FailureDetails {
  /** The request field at fault, dotted (`messages.0.role`). */
  readonly param?: string;
  /** How long the caller should wait before it tries again. Becomes `retry-after` and `retry-after-ms`. */
  readonly retryAfterMs?: number;
  /** Further response headers. */
  readonly headers?: ResponseHeaders;
  /** What Anthropic tells of an error besides its message, for clients of the Messages API. */
  readonly messagesDetails?: JsonObject | null;
  /** The reason for operators' logs. Never sent to a client. */
  readonly cause?: unknown;
}

/**
 * A refusal or fault with a code of the table of error codes: the only error whose message reaches a client.
 * Any other error is answered as `internal_error`. Key strings and tokens are removed from the message and `param`, because
 * people paste them as values and as names of fields.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly retryAfterMs: number | null;
  readonly headers: ResponseHeaders;
  readonly messagesDetails: JsonObject | null;

  constructor(code: ErrorCode, message: string, details: FailureDetails = {}) {
    // A flood consists of refusals, and a stack trace costs more than the refusal. The cause of a fault has its own stack.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(withoutSecrets(message), details.cause === undefined ? undefined : { cause: details.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.param = details.param === undefined ? null : withoutSecrets(details.param);
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.headers = details.headers ?? {};
    this.messagesDetails = details.messagesDetails ?? null;
  }

  /** HTTP status of this failure. */
  get status(): number {
    return ERROR_CODES[this.code].status;
  }
}

/** A store that the service depends on does not answer. Clients get 503. */
export class Unavailable extends Error {
  override readonly name: string = "Unavailable";
}

/**
 * The codes of errors by which a store can't be reached or ends the connection: SQLSTATE class 08, an operator's intervention (57P), and the system's
 * errors, including those of a host name that can't be resolved (EAI).
 */
const UNREACHABLE =
  /^(?:08\w{3}|57P\d\d|E(?:CONN\w+|PIPE|HOST\w+|NET\w+|TIMEDOUT|NOTFOUND|NOENT|ADDRNOTAVAIL|AI_\w+)|CONNECT\w+)$/;
/**
 * The codes of errors by which a connection can't be secured, such as by a certificate that has expired or of an authority that is not trusted. Most are
 * OpenSSL's. The last two are the database driver's: the server asks for a sign-in that the driver does not know, or does not know the password itself.
 */
const UNSECURED =
  /^(?:ERR_(?:SSL|TLS)_\w+|EPROTO|CERT_\w+|UNABLE_TO_\w+|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_EXCEEDED|AUTH_TYPE_NOT_IMPLEMENTED|SASL_SIGNATURE_MISMATCH)$/;
/**
 * The codes of errors that are not caused by the request, so that a later attempt may succeed. By SQLSTATE: lack of resources (53), input and output
 * (58); a database that takes no writes, as after a failover (25006), whose user has lost a permission (42501), or in which the user finds no table
 * (42P01: the schema is closed to it, or a restore has not created the table again); a lost race (40001, 40P01); and what took too long (57014: a
 * statement, 55P03: a wait for a lock, 25P03: an idle transaction). By the system's code: lack of descriptors, memory or space, and a disk that fails.
 */
const BUSY =
  /^(?:53\w{3}|58\w{3}|25006|42501|42P01|40001|40P01|57014|55P03|25P03|E(?:MFILE|NFILE|NOMEM|NOBUFS|AGAIN|NOSPC|DQUOT|IO|ROFS))$/;

/** Whether a store does not answer at all, so that others would wait for it in vain: unlike a statement that took too long. */
export function isUnreachable(thrown: unknown): boolean {
  if (thrown instanceof Unavailable) return true;
  if (!(thrown instanceof Error && "code" in thrown)) return false;
  // PostgreSQL refuses or ends a connection by a fatal error, whatever its code: the database may be restored or its password replaced.
  const isFatal = "severity" in thrown && (thrown.severity === "FATAL" || thrown.severity === "PANIC");
  // A firewall or a lack of the protocol has codes of its own, which also mean other things.
  const isOfConnecting = "syscall" in thrown && thrown.syscall === "connect";
  const code = String(thrown.code);
  return isFatal || isOfConnecting || UNREACHABLE.test(code) || UNSECURED.test(code);
}

function isStoreAway(thrown: unknown): boolean {
  return (
    isUnreachable(thrown) || (thrown instanceof Error && "code" in thrown && BUSY.test(String(thrown.code)))
  );
}

/** Turns any thrown value into a failure. The message of an unexpected error is not shown to clients. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (isStoreAway(thrown)) {
    return new Failure(
      "server_is_overloaded",
      "The service cannot handle this request at the moment. Try again shortly.",
      {
        retryAfterMs: 1_000,
        cause: thrown,
      },
    );
  }
  return new Failure(
    "internal_error",
    "The service failed to handle this request. Try again; if it keeps failing, give the operator the request id.",
    { cause: thrown },
  );
}

/** The response body of a failure. */
export function envelopeOf(failure: Failure): ErrorEnvelope {
  const { type } = ERROR_CODES[failure.code];
  return { error: { message: failure.message, type, param: failure.param, code: failure.code } };
}

/** The response headers that belong to a failure, by its code. */
export function headersOf(failure: Failure): ResponseHeaders {
  const headers: { -readonly [Name in keyof ResponseHeaders]: string } = { ...failure.headers };
  if (failure.status === 401) headers["www-authenticate"] = "Bearer";
  if (failure.code === "credit_balance_exhausted") headers["x-should-retry"] = "false";
  if (failure.retryAfterMs !== null) {
    headers["retry-after"] = String(Math.max(1, Math.ceil(failure.retryAfterMs / 1000)));
    headers["retry-after-ms"] = String(Math.ceil(failure.retryAfterMs));
  }
  return headers;
}
