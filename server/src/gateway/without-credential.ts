import type { Upstream } from "../catalog/catalog.ts";
import type { Credential } from "../catalog/credential.ts";
import { Failure } from "../errors/failure.ts";
import type { JsonObject } from "../json/json.ts";
import { UpstreamRefused } from "../upstream/dialect.ts";

/**
 * Returns a function that removes the upstream's credential from a piece of its answer. Some servers and proxies quote the
 * request that they received.
 */
export function cutCredential({ credential }: Upstream): (text: string) => string {
  return (text) => credential?.cutFromAnswer(text) ?? text;
}

/** Removes the upstream's credential from an error that its dialect threw. */
export function errorWithoutCredential(thrown: unknown, { credential }: Upstream): unknown {
  if (credential === null || !(thrown instanceof UpstreamRefused)) return thrown;
  const failure = failureWithout(thrown.failure, credential);
  return failure === thrown.failure ? thrown : new UpstreamRefused(thrown.status, failure, thrown.usage);
}

function failureWithout(failure: Failure, credential: Credential): Failure {
  const message = credential.cutFromError(failure.message);
  const param = failure.param === null ? null : credential.cutFromError(failure.param);
  const messagesDetails = detailsWithout(failure.messagesDetails, credential);
  const isSame =
    message === failure.message && param === failure.param && messagesDetails === failure.messagesDetails;
  if (isSame) return failure;
  const { code, retryAfterMs, headers, cause } = failure;
  return new Failure(code, message, {
    ...(param === null ? {} : { param }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    messagesDetails,
    headers,
    cause,
  });
}

/** The details of an error; `null` if they hold the credential. */
function detailsWithout(details: JsonObject | null, credential: Credential): JsonObject | null {
  const text = JSON.stringify(details);
  return credential.cutFromError(text) === text ? details : null;
}
