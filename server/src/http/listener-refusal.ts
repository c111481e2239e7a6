import { envelopeOf, Failure, headersOf } from "../errors/failure.ts";

/** The answer to a request whose target and host are no valid URL, so that no web-standard request can be made of it. */
export function invalidTargetAnswer(requestId: string): Response {
  const message =
    "The request's target and `Host` header are not the path and address of a resource. Check both.";
  const { headers, body } = refusalAnswerOf(new Failure("invalid_request", message), requestId);
  return new Response(body, { status: 400, headers });
}

/** The headers and body of the answer to a request that its listener refuses. The connection is closed after it. */
export function refusalAnswerOf(failure: Failure, requestId: string) {
  const body = JSON.stringify(envelopeOf(failure));
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "x-request-id": requestId,
    connection: "close",
    ...headersOf(failure),
  };
  return { headers, body };
}
