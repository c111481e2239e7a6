import { ERROR_STATUSES, type ErrorCode } from "../contract/error-codes.ts";
import {
  APIError,
  type APIErrorDetails,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ContentTooLargeError,
  InternalServerError,
  NotFoundError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "./errors.ts";
import { isFields } from "./fields.ts";
import type { WireAnswer } from "./wire.ts";

const CLASSES: Readonly<Record<number, new (message: string, details: APIErrorDetails) => APIError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: PaymentRequiredError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  413: ContentTooLargeError,
  422: UnprocessableEntityError,
  429: RateLimitError,
};

/** The error for an answer. Only this function maps a status to a class. */
export function errorFor(status: number, body: unknown, headers: Headers): APIError {
  const envelope = readEnvelope(body);
  const Class = CLASSES[status] ?? (status >= 500 ? InternalServerError : APIError);
  const details = { ...envelope, status, requestId: headers.get("x-request-id"), headers };
  return new Class(envelope.message ?? defaultMessage(status), details);
}

/** The error for an error event inside a stream, whose answer had begun with 200. */
export function errorForEvent(body: unknown, headers: Headers): APIError {
  const { code, httpStatus } = readEnvelope(body);
  return errorFor(isListed(code) ? ERROR_STATUSES[code] : httpStatus, body, headers);
}

/** The error for a success that the service cannot have sent. */
export function notFromService({ status, headers }: Pick<WireAnswer, "status" | "headers">): APIError {
  return new APIError("The answer is not from the service. Check the base URL.", {
    status,
    code: null,
    type: null,
    param: null,
    requestId: headers.get("x-request-id"),
    headers,
  });
}

/**
 * Whether a success is JSON of the service, by its headers. If it cannot be parsed, it was cut off, as on a connection whose end is the end of the
 * answer, which a proxy may use.
 */
export function isJsonOfService(wire: WireAnswer): boolean {
  const isJson = /^application\/json\b/i.test(wire.header("content-type") ?? "");
  return wire.ok && isJson && wire.header("x-request-id") !== null;
}

/** The body of an answer that should be a stream. @throws {APIError} it is a page, a JSON document or nothing. */
export function streamOf(wire: WireAnswer): NonNullable<Response["body"]> {
  const isOther = /^(text\/html|application\/json)\b/i.test(wire.header("content-type") ?? "");
  if (wire.body !== null && !isOther) return wire.body;
  wire.discard();
  throw notFromService(wire);
}

function defaultMessage(status: number): string {
  // A redirect that a web page does not follow has the status 0.
  return status === 0 || (status >= 300 && status < 400)
    ? "The service answered with a redirect, which the client does not follow. Check the base URL."
    : `The answer with status ${status} has no error of the service: it may be a proxy's. Check the base URL and the proxies before the service.`;
}

function isListed(code: string | null): code is ErrorCode {
  return code !== null && Object.hasOwn(ERROR_STATUSES, code);
}

/** A procedure's error has the same content as an envelope, in tRPC's form, and its status. */
function errorIn(outer: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const error = asRecord(outer.error);
  const { message, data } = asRecord(error.json);
  const { ostiary, httpStatus } = asRecord(data);
  return ostiary === undefined ? { ...error, httpStatus } : { ...asRecord(ostiary), message, httpStatus };
}

function readEnvelope(body: unknown): {
  message: string | null;
  code: string | null;
  type: string | null;
  param: string | null;
  httpStatus: number;
} {
  const error = errorIn(asRecord(body));
  const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
  return {
    message: text(error.message),
    code: text(error.code),
    type: text(error.type),
    param: text(error.param),
    // An event has no status of its own.
    httpStatus: typeof error.httpStatus === "number" ? error.httpStatus : 500,
  };
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isFields(value) ? value : {};
}
