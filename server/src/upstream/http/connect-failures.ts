/// <reference path="./undici-parts.d.ts" />
import errors from "undici/lib/core/errors.js";
import { TransportError } from "../transport.ts";

/** The proxy is why nothing was sent. */
export class ProxyFailure extends TransportError {
  constructor(message: string, cause?: unknown) {
    super("connect", message, cause);
  }
}

/** What to do about a proxy that answers with this status. */
const REMEDIES: Readonly<Record<number, string>> = {
  403: "allow the upstream in the proxy, or add its host to NO_PROXY",
  407: "check the user and password in the URL of the proxy",
};

/** The proxy did not connect to the upstream. `status`: its answer. */
export function refusedByProxy(status: number): ProxyFailure {
  const remedy = REMEDIES[status] ?? "the log of the proxy has the reason";
  return new ProxyFailure(`the proxy refused the connection with status ${status}: ${remedy}`);
}

/** TLS is why nothing was sent. Its message says what to do. */
export class TlsFailure extends TransportError {
  constructor(message: string, cause: unknown) {
    super("connect", message, cause);
  }
}

const CERTIFICATE = "the certificate of the upstream, or of the proxy,";

/** What TLS fails with, by codes and messages as Node and Deno have them. */
const TLS_FAILURES: readonly (readonly [RegExp, string])[] = [
  [
    /CERT_HAS_EXPIRED/,
    `${CERTIFICATE} has expired: it has to be renewed, unless this machine's clock is wrong`,
  ],
  [/CERT_NOT_YET_VALID/, `${CERTIFICATE} is not valid yet: check this machine's clock`],
  [/ALTNAME_INVALID|NotValidForName/, `${CERTIFICATE} is that of another host: check the host in its URL`],
  [
    /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|SELF_SIGNED|UnknownIssuer/,
    `${CERTIFICATE} is not trusted: name the file of its authority's certificate in NODE_EXTRA_CA_CERTS, or in DENO_CERT on Deno`,
  ],
  [
    /WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG|packet length too long|InvalidContentType/,
    "the upstream, or the proxy, does not speak TLS: check whether its URL has to begin with http:, and its port",
  ],
  [
    /\b(?:EPROTO|ERR_SSL_\w+|fatal alert)\b/,
    "the upstream, or the proxy, refused the connection's TLS: the log has the reason",
  ],
];

/** Why no connection was made, so that nothing was sent. */
export function connectFailure(error: Error): TransportError {
  if (error instanceof TransportError) return error;
  if (error instanceof errors.ConnectTimeoutError) {
    return new TransportError("connect", "the upstream could not be reached in time", error);
  }
  const told = `${"code" in error ? error.code : ""} ${error.message}`;
  const [, message = null] = TLS_FAILURES.find(([words]) => words.test(told)) ?? [];
  return message === null
    ? new TransportError("connect", "the upstream could not be reached", error)
    : new TlsFailure(message, error);
}
