import { Failure, toFailure } from "../errors/failure.ts";
import { UpstreamRefused } from "../upstream/dialect.ts";
import { TransportError } from "../upstream/transport.ts";
import { RoutesFailed } from "./routes-failed.ts";

/** Turns an upstream's error into the failure for the client. */
export function upstreamFailure(thrown: unknown): Failure {
  if (thrown instanceof RoutesFailed) return upstreamFailure(thrown.reason);
  if (thrown instanceof UpstreamRefused) return thrown.failure;
  if (!(thrown instanceof TransportError)) return toFailure(thrown);
  if (thrown.fault === "timeout") {
    return new Failure("upstream_timeout", "The model's server took too long. Try again, or ask for less.", {
      cause: thrown,
    });
  }
  const message =
    thrown.fault === "connect"
      ? "The model's server can't be reached. Try again, or choose another model."
      : "The model's server broke off its answer. Try again, or choose another model.";
  return new Failure("upstream_error", message, { cause: thrown });
}

/** Whether an upstream caused a failure: otherwise the service or its stores did. */
export function isUpstreamFault(thrown: unknown): boolean {
  if (thrown instanceof Failure)
    return thrown.code === "upstream_error" || thrown.code === "upstream_timeout";
  return (
    thrown instanceof RoutesFailed || thrown instanceof UpstreamRefused || thrown instanceof TransportError
  );
}
