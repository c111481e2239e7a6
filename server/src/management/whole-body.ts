import type { BodySender } from "../admission/body-budget.ts";
import { declaredBytesOf, IncomingBody } from "../admission/incoming-body.ts";
import { Failure } from "../errors/failure.ts";
import { BoundedParser } from "../json/bounded-parser.ts";

/** The time in which a body has to be complete. */
const BODY_TIMEOUT_MS = 30_000;

/** A body of this size can't hold enough to take long to be parsed. */
const UNCOUNTED_BYTES = 16 * 1024;
const decoder = new TextDecoder();

/**
 * Returns the request with its complete body and its signal, which tells when the client has gone. While the body arrives, its bytes count against
 * the budget of its sender.
 *
 * @throws {Failure} as {@link receiveWithin}, whatever the request's headers say; `invalid_request` if it would take too long to be parsed.
 */
export async function withWholeBody(
  request: Request,
  maxBytes: number,
  sender: BodySender,
): Promise<Request> {
  if (request.body === null) return request;
  const reader = request.body.getReader();
  try {
    const declared = request.headers.get("content-length");
    const whole = await receiveWithin(declared, maxBytes, sender, (body) => void feed(body, reader));
    requireBounded(whole);
    const { url, method, headers, signal } = request;
    return new Request(url, { method, headers, signal, body: new Blob([new Uint8Array(whole)]) });
  } catch (error) {
    // The listener drops the rest of the body. On Node a cancelled body would take its connection, and the answer, with it.
    reader.releaseLock();
    throw error;
  }
}

function requireBounded(body: Uint8Array): void {
  if (body.length <= UNCOUNTED_BYTES || new BoundedParser().count(decoder.decode(body))) return;
  throw new Failure("invalid_request", "The body holds more values than calls need. Send fewer.");
}

/**
 * Receives the body of a call. `start` begins to pass its bytes.
 *
 * @param declaredLength the value of `content-length`; `null` without one.
 * @throws {Failure} `request_too_large` beyond `maxBytes`; `request_timeout` when it is not complete in time; or as
 *   {@link BodySender.reserve}.
 */
export async function receiveWithin(
  declaredLength: string | null,
  maxBytes: number,
  sender: BodySender,
  start: (body: IncomingBody) => void,
): Promise<Uint8Array> {
  const declaredBytes = declaredBytesOf(declaredLength);
  const body = new IncomingBody({ sender, maxBodies: null, declaredBytes, maxBytes });
  const tooSlow = new Failure("request_timeout", "The body did not arrive in time. Send it again.");
  const timer = setTimeout(() => body.refuse(tooSlow), BODY_TIMEOUT_MS);
  try {
    return await body.receive(start);
  } finally {
    clearTimeout(timer);
    body.release();
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
