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

/** Errors of certificates, as Node and Deno have them. */
const CERTIFICATE = /CERT|UNABLE_TO_VERIFY|SELF_SIGNED|UnknownIssuer/;

/** Why no connection was made, so that nothing was sent. */
export function connectFailure(error: Error): TransportError {
  if (error instanceof TransportError) return error;
  if (error instanceof errors.ConnectTimeoutError) {
    return new TransportError("connect", "the upstream could not be reached in time", error);
  }
  const code = "code" in error ? String(error.code) : "";
  if (CERTIFICATE.test(code) || CERTIFICATE.test(error.message)) {
    return new TransportError(
      "connect",
      "the certificate of the upstream, or of the proxy, is not trusted",
      error,
    );
  }
  return new TransportError("connect", "the upstream could not be reached", error);
}
