import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { Failure } from "../errors/failure.ts";
import { answerOn } from "./client-connections.ts";
import { refusalAnswerOf } from "./listener-refusal.ts";
import { failBody } from "./node-exchange.ts";

/** The error codes of connections on which TLS was not negotiated, so that no answer can be sent. */
const FAILED_NEGOTIATION = /^(ERR_(SSL|TLS)_|EPROTO$)/;

/** The connections that {@link endAfterAnswers} closes. */
const ENDING = new WeakSet<Socket>();

/**
 * Answers requests that Node refuses by itself with the error envelope and a request id: malformed, oversized or slow heads,
 * unsupported expectations, and tunnels. Answers never repeat what was sent.
 *
 * @param isExchanged whether an exchange handles a request. It answers a malformed body itself.
 */
export function answerRefusals(
  server: Server | SecureServer,
  newRequestId: () => string,
  isExchanged: (request: IncomingMessage) => boolean,
): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const isBeforeRequest = FAILED_NEGOTIATION.test(error.code ?? "");
    if (!socket.writable || error.code === "ECONNRESET" || isBeforeRequest) {
      socket.destroy();
      return;
    }
    const answering = answerOn(socket);
    if (answering?.req.complete === true) {
      // The refused data came after a valid request, and no other answer can be sent before the end of that request's answer.
      endAfterAnswers(socket);
      return;
    }
    if (answering?.headersSent === true) {
      socket.destroy();
      return;
    }
    if (answering === null && isWithinBody(socket)) {
      // Its request was answered before, so a client would mistake another answer for the one to its next request. The connection lingers.
      socket.end();
      return;
    }
    if (answering !== null && isExchanged(answering.req)) {
      // A client that has closed its side in the middle of a body counts as disconnected.
      if (error.code === "HPE_INVALID_EOF_STATE") socket.destroy();
      else failBody(answering, failureOf(error));
      return;
    }
    socket.write(rawAnswer(failureOf(error), newRequestId()));
    socket.destroySoon();
  });
  server.on("checkExpectation", (_: IncomingMessage, response: ServerResponse) => {
    const message = "The service supports only `Expect: 100-continue`. Remove the `Expect` header.";
    refuse(response, new Failure("expectation_failed", message), newRequestId());
  });
  server.on("connect", (_: IncomingMessage, socket: Socket) => {
    // Node has taken off its own listeners. Without one, a client that resets the connection would end the process.
    socket.on("error", () => socket.destroy());
    if (answerOn(socket) !== null) {
      socket.destroy();
      return;
    }
    const headers = { allow: "GET, HEAD, POST" };
    const failure = new Failure("method_not_allowed", "The service is not a proxy. Use GET or POST.", {
      headers,
    });
    socket.write(rawAnswer(failure, newRequestId()));
    socket.destroySoon();
  });
}

/** Answers a request with a failure, and closes its connection. */
export function refuse(response: ServerResponse, failure: Failure, requestId: string): void {
  const { headers, body } = refusalAnswerOf(failure, requestId);
  response.writeHead(failure.status, headers).end(body);
}

function failureOf({ code }: NodeJS.ErrnoException): Failure {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new Failure(
        "headers_too_large",
        "The request line and headers exceed 16 KiB. Send fewer or shorter headers.",
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Failure("request_too_large", "The chunk extensions of the body are too large. Remove them.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Failure(
        "request_timeout",
        "The request headers did not arrive in time. Send the request again.",
      );
    default:
      return new Failure(
        "invalid_request",
        "The request is not valid HTTP/1.1. Check its request line, headers and body framing.",
      );
  }
}

/** `parser` is private to Node's server. Its request is the last one whose head was read. */
type ParsedSocket = Socket & { readonly parser?: { readonly incoming?: IncomingMessage | null } | null };

/** Whether a body is being read on the connection. */
function isWithinBody({ parser }: ParsedSocket): boolean {
  return parser?.incoming?.complete === false;
}

/** Closes a connection when all requests that came before are answered. */
export function endAfterAnswers(socket: Socket): void {
  // Node reports an error for each further piece.
  if (ENDING.has(socket)) return;
  ENDING.add(socket);
  const end = () => {
    const answering = answerOn(socket);
    if (answering === null) socket.destroySoon();
    // The next answer is on the connection only after all listeners of this one.
    else answering.once("finish", () => setImmediate(end));
  };
  end();
}

function rawAnswer(failure: Failure, requestId: string): string {
  const { headers, body } = refusalAnswerOf(failure, requestId);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}\r\n${lines.join("")}\r\n${body}`;
}
