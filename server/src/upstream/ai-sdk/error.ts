import { APICallError, InvalidPromptError, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { cannot } from "../../conversation/conversation.ts";
import { Failure } from "../../errors/failure.ts";
import { OVERLOADED } from "../../errors/messages-error.ts";
import { isJsonObject } from "../../json/json.ts";
import { UpstreamRefused } from "../dialect.ts";
import { malformedResponse, refusalOf, refusedStatus } from "../refusal.ts";
import { TransportError } from "../transport.ts";

/**
 * Converts an error of an AI SDK package. Its message and request are dropped, because they contain prompts and answers.
 *
 * @param isSent whether anything had been sent to the upstream.
 */
export function errorOf(thrown: unknown, isSent: boolean): unknown {
  if (thrown instanceof Failure || thrown instanceof UpstreamRefused) return thrown;
  const known = transportErrorIn(thrown) ?? failureIn(thrown);
  if (known !== null) return known;
  if (UnsupportedFunctionalityError.isInstance(thrown)) {
    return cannot("body", `is not supported by this model's provider: ${thrown.functionality}`);
  }
  if (InvalidPromptError.isInstance(thrown)) {
    return cannot("messages", "cannot be translated for this model's provider");
  }
  if (!isSent) return cannot("body", "cannot be translated for this model's provider; check its schemas");
  if (APICallError.isInstance(thrown) && thrown.statusCode !== undefined && thrown.statusCode !== 200) {
    const { statusCode, responseHeaders = {}, responseBody = "" } = thrown;
    const status = refusedStatus(statusCode, responseBody);
    return new UpstreamRefused(status, refusalOf(status, responseHeaders, responseBody));
  }
  const name = thrown instanceof Error ? thrown.name : "something that is no error was thrown";
  return errorInStream(thrown) ?? malformedResponse(new Error(name));
}

/** An error that the upstream reported within its stream. */
function errorInStream(thrown: unknown): UpstreamRefused | null {
  if (!isJsonObject(thrown)) return null;
  const error = isJsonObject(thrown.error) ? thrown.error : thrown;
  const status = error.type === "overloaded_error" ? OVERLOADED : 500;
  return new UpstreamRefused(status, refusalOf(status, {}, ""));
}

function transportErrorIn(thrown: unknown): TransportError | null {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof TransportError) return error;
    if (error.name === "AbortError") return new TransportError("aborted", "the request was aborted", error);
  }
  return null;
}

function failureIn(thrown: unknown): Failure | null {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if (error instanceof Failure) return error;
  return null;
}
