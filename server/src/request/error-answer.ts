import { envelopeOf, type Failure, headersOf } from "../errors/failure.ts";
import { googleErrorOf } from "../errors/google-error.ts";
import { messagesErrorOf, messagesStatusOf } from "../errors/messages-error.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import { JSON_HEADERS } from "../operations/reply.ts";
import type { RequestHead } from "./exchange.ts";
import { isMessagesClient } from "./messages-client.ts";
import { GOOGLE_METHOD, OLLAMA_PATH } from "./not-found-hints.ts";

/** Google's and Ollama's APIs are not served. Their clients show what to use instead only if the error has their own format. */
type ErrorFormat = "openai" | "messages" | "google" | "ollama";

/** A version that only Google's API has. Below `/openai` Google has OpenAI's API. */
const GOOGLE_VERSION = /^(?:\/+[^/]+){0,2}?\/+v1(?:alpha|beta)\d*\/+(?!openai\/)/;

/** The format in which a request's client reads errors. */
export function errorFormatOf(exchange: RequestHead): ErrorFormat {
  const { path } = exchange;
  if (isMessagesClient(exchange)) return "messages";
  if (OLLAMA_PATH.test(path)) return "ollama";
  const isGoogle =
    GOOGLE_METHOD.test(path) ||
    GOOGLE_VERSION.test(path) ||
    // Only the list of models is at a path that OpenAI's API has, too.
    (path.startsWith("/v1/models") && exchange.header("x-goog-api-key").length > 0);
  return isGoogle ? "google" : "openai";
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
}

/** A failure in the format of its client. Only the format of Anthropic's clients contains the request's id. */
export function errorAnswerOf(exchange: RequestHead, failure: Failure, requestId: string): ErrorAnswer {
  const headers = { ...JSON_HEADERS, ...headersOf(failure) };
  const format = errorFormatOf(exchange);
  const status = format === "messages" ? messagesStatusOf(failure) : failure.status;
  return { status, headers, body: JSON.stringify(bodyOf(failure, format, requestId)) };
}

function bodyOf(failure: Failure, format: ErrorFormat, requestId: string): object {
  switch (format) {
    case "messages":
      return { ...messagesErrorOf(failure), request_id: requestId };
    case "google":
      return googleErrorOf(failure);
    case "ollama":
      return { error: failure.message };
    case "openai":
      return envelopeOf(failure);
  }
}
