import { APICallError, InvalidPromptError, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { Failure } from "../../errors/failure.ts";
import { UpstreamRefused } from "../../gateway/dialect.ts";
import { refusalOf } from "../openai/refusal.ts";
import { TransportError } from "../transport.ts";
import { cannot } from "./prompt.ts";

/** What a package of the AI SDK has thrown, in the gateway's terms. */
export function errorOf(thrown: unknown): unknown {
  if (thrown instanceof Failure || thrown instanceof UpstreamRefused) return thrown;
  const transport = transportErrorIn(thrown);
  if (transport !== null) return transport;
  if (UnsupportedFunctionalityError.isInstance(thrown)) {
    return cannot("body", `this model's server can't do this: ${thrown.functionality}`);
  }
  if (InvalidPromptError.isInstance(thrown))
    return cannot("messages", "can't be expressed for this model's server");
  if (APICallError.isInstance(thrown) && thrown.statusCode !== undefined && thrown.statusCode !== 200) {
    const { statusCode, responseHeaders = {}, responseBody = "" } = thrown;
    return new UpstreamRefused(statusCode, refusalOf(statusCode, responseHeaders, responseBody));
  }
  const message =
    "The model's server gave an answer that makes no sense. Try again, or choose another model.";
  return new UpstreamRefused(200, new Failure("upstream_error", message, { cause: thrown }));
}

function transportErrorIn(thrown: unknown): TransportError | null {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof TransportError) return error;
    if (error.name === "AbortError") return new TransportError("aborted", "the request was aborted", error);
  }
  return null;
}
