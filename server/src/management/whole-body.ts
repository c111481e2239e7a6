import type { BodySender } from "../admission/body-budget.ts";
import { IncomingBody } from "../admission/incoming-body.ts";
import { Failure } from "../errors/failure.ts";

/**
 * Returns the request with its complete body. While the body arrives, its bytes count against the budget of its sender.
 *
 * @throws {Failure} `request_too_large` beyond `maxBytes`, whatever its headers say; `request_timeout` when it is
 *   not complete in time; or as {@link BodySender.reserve}.
 */
export async function withWholeBody(
  request: Request,
  maxBytes: number,
  timeoutMs: number,
  sender: BodySender,
): Promise<Request> {
  if (request.body === null) return request;
  const reader = request.body.getReader();
  const declared = request.headers.get("content-length");
  const declaredBytes = declared === null ? null : Number(declared);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let body: IncomingBody | null = null;
  try {
    const incoming = new IncomingBody({ sender, maxBodies: null, declaredBytes, maxBytes });
    body = incoming;
    const tooSlow = new Failure("request_timeout", "The body did not arrive in time. Send it again.");
    timer = setTimeout(() => incoming.refuse(tooSlow), timeoutMs);
    const whole = await incoming.receive(() => void feed(incoming, reader));
    const { url, method, headers } = request;
    return new Request(url, { method, headers, body: new Blob([new Uint8Array(whole)]) });
  } catch (error) {
    // The rest of the body is not read.
    void reader.cancel().catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
    body?.release();
  }
}

async function feed(body: IncomingBody, reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!body.isOver) {
      const { done, value } = await reader.read();
      if (done) return body.end();
      body.add(value);
    }
  } catch (cause) {
    body.abort(cause);
  }
}
