import { isFields } from "./fields.ts";

/** Codes of Node and Bun for certificates that they refuse (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const REFUSED = /CERT|^UNABLE_TO_|^INVALID_CA|^INVALID_PURPOSE|^HOSTNAME_MIS/;
/** Deno has no codes. */
const REFUSED_BY_DENO = /invalid peer certificate: (.+)/;
/** What Node, Bun and Deno say of a connection that cannot be opened, and of a host that is unknown. Node has a mere code for several addresses. */
const UNSENT = /^E[A-Z]+$|connect E|ECONNREFUSED|getaddrinfo|client error \(Connect\)/;
/** The reasons for which a further authority helps. */
const UNKNOWN_AUTHORITY = /SELF_|ISSUER|LEAF|Issuer|CaUsed/;
/** What OpenSSL, Deno and Bun say of an answer that is not TLS. */
const NOT_TLS = /wrong version number|packet length too long|InvalidContentType|speak TLS on this port/;

/**
 * Why a connection cannot be opened, and what to do: another attempt does not help. `null` for other reasons, which may pass, and for those of
 * runtimes that do not tell.
 */
export function lastingProblem(error: unknown): string | null {
  let cause = error;
  // Causes may lead back to the first.
  for (let depth = 0; depth < 5 && isFields(cause); depth++) {
    if (cause.name === "NotCapable") return "Deno lacks --allow-net.";
    const code = String(cause.code);
    const message = String(cause.message);
    const reason = REFUSED.test(code) ? message : REFUSED_BY_DENO.exec(message)?.[1];
    if (reason !== undefined) {
      const advice = UNKNOWN_AUTHORITY.test(code + reason)
        ? " To trust an authority of your own, set NODE_EXTRA_CA_CERTS (on Deno, DENO_CERT) to the file of its certificate."
        : "";
      return `a certificate is refused (${reason.trim()}).${advice}`;
    }
    if (NOT_TLS.test(message))
      return "its answer is not TLS. If the service has no certificate, use http://.";
    cause = cause.cause;
  }
  return null;
}

/**
 * Whether no connection was opened, so that the service has received nothing of the request. `false` for runtimes that do not tell.
 *
 * @param depth The number of errors of which this is the cause. Causes may lead back to the first.
 */
export function isUnsent(error: unknown, depth = 0): boolean {
  if (!isFields(error) || depth === 5) return false;
  return UNSENT.test(String(error.code) + error.message) || isUnsent(error.cause, depth + 1);
}
