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
  OstiaryError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "./errors.ts";
import { type Fields, isFields } from "./fields.ts";
import { withoutQuery } from "./path.ts";
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
  const error = errorIn(body);
  const Class = CLASSES[status] ?? (status >= 500 ? InternalServerError : APIError);
  const message = textIn(error.message) ?? defaultMessage(status, headers);
  return new Class(message, detailsOf(status, error, headers));
}

/** The error for an error event inside a stream, whose answer had begun with 200 and which has no status of its own. */
export function errorForEvent(body: unknown, headers: Headers): APIError {
  const { code, httpStatus } = errorIn(body);
  const status = isListed(code) ? ERROR_STATUSES[code] : httpStatus;
  return errorFor(typeof status === "number" ? status : 500, body, headers);
}

/** The error for a success that the service cannot have sent. */
export function notFromService({ status, headers }: Pick<WireAnswer, "status" | "headers">): APIError {
  const message = "The answer is not from the service. Check the base URL.";
  return new APIError(message, detailsOf(status, {}, headers));
}

function detailsOf(status: number, { code, type, param }: Fields, headers: Headers): APIErrorDetails {
  return {
    status,
    code: textIn(code),
    type: textIn(type),
    param: textIn(param),
    requestId: headers.get("x-request-id"),
    headers,
  };
}

/**
 * Whether a success is JSON of the service, by its headers. If it cannot be parsed, it was cut off, as on a connection whose end is the end of the
 * answer, which a proxy may use.
 */
export function isJsonOfService(wire: WireAnswer): boolean {
  const isJson = /^application\/json\b/i.test(wire.header("content-type") ?? "");
  return wire.ok && isJson && wire.header("x-request-id") !== null;
}

/**
 * The body of an answer that should be a stream.
 *
 * @throws {APIError} it is a page, a JSON document or nothing. {@link OstiaryError}: the runtime has no streams, as React Native.
 */
export function streamOf(wire: WireAnswer): NonNullable<Response["body"]> {
  const isOther = /^(text\/html|application\/json)\b/i.test(wire.header("content-type") ?? "");
  const body: Response["body"] | undefined = wire.body;
  if (body && !isOther) return body;
  wire.discard();
  if (body !== undefined) throw notFromService(wire);
  throw new OstiaryError("This runtime's fetch cannot stream answers. Pass a `fetch` that can.");
}

function defaultMessage(status: number, headers: Headers): string {
  // A redirect that a web page does not follow has the status 0, and no headers.
  if (status === 0 || (status >= 300 && status < 400)) {
    return `The service answered with a redirect${leadingTo(headers.get("location"))}, which the client does not follow. Check the base URL.`;
  }
  return `The answer with status ${status} has no error of the service: it may be a proxy's. Check the base URL and the proxies before the service.`;
}

/** Where a redirect leads, without the parts of its address that may be secret. */
function leadingTo(location: string | null): string {
  return location === null ? "" : ` to ${withoutQuery(location).replace(/\/\/[^/]*@/, "//")}`;
}

function isListed(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_STATUSES, code);
}

/** The error in a body. A procedure's has the same content as an envelope, in tRPC's form, and its status. */
function errorIn(body: unknown): Fields {
  const error = fieldsOf(fieldsOf(body).error);
  const { message, data } = fieldsOf(error.json);
  const { ostiary, httpStatus } = fieldsOf(data);
  return ostiary === undefined ? { ...error, httpStatus } : { ...fieldsOf(ostiary), message, httpStatus };
}

function textIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}
