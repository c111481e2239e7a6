import type { AppRouter } from "@ostiary/server/router";
import type { TRPCClientError } from "@trpc/client";

/** An error of the service, from either of its two formats. */
interface ServiceError {
  readonly code: string;
  readonly param: string | null;
  readonly message: string;
}

function serviceErrorOf(error: unknown): ServiceError | null {
  // Not by its class: the pages before sign-in do without tRPC's client.
  if (!(error instanceof Error) || !("meta" in error)) return null;
  const { data, meta, message } = error as TRPCClientError<AppRouter>;
  if (data?.ostiary !== undefined) return { code: data.ostiary.code, param: data.ostiary.param, message };
  return envelopeIn(meta?.responseJSON);
}

/**
 * The error in an answer with the envelope of `/v1`; `null` for any other body. Requests that are refused before a procedure runs
 * (wrong origin, stores unavailable) are answered in this envelope too.
 */
function envelopeIn(body: unknown): ServiceError | null {
  if (typeof body !== "object" || body === null || !("error" in body)) return null;
  const { error } = body;
  if (typeof error !== "object" || error === null || !("code" in error) || !("message" in error)) return null;
  if (typeof error.code !== "string" || typeof error.message !== "string") return null;
  const param = "param" in error && typeof error.param === "string" ? error.param : null;
  return { code: error.code, param, message: error.message };
}

/** The service's code for an error; `null` when the service could not be reached. */
export function errorCodeOf(error: unknown): string | null {
  return serviceErrorOf(error)?.code ?? null;
}

/** The answer to a call that failed; `null` if none came. Not that of a subscription. */
function answerOf(error: unknown): Response | null {
  if (!(error instanceof Error)) return null;
  const response = (error as Partial<TRPCClientError<AppRouter>>).meta?.response;
  return response instanceof Response ? response : answerOf(error.cause);
}

/** The status that a call was answered with, also within the answer to several; `null` if no answer came. */
function statusOf(error: unknown): number | null {
  const status = (error as Partial<TRPCClientError<AppRouter>> | null)?.data?.httpStatus;
  return status ?? answerOf(error)?.status ?? null;
}

/** Whether a call was refused, by the service or by a proxy in front of it: it has changed nothing. */
export function isRefused(error: unknown): boolean {
  const status = statusOf(error);
  return status !== null && status >= 400 && status < 500;
}

/** Whether the service could not be reached. */
export function isUnreachable(error: unknown): boolean {
  return errorCodeOf(error) === null && !isTimeout(error) && !isRefused(error);
}

/** Whether there is nothing of the id that was asked for, or the id is none. */
export function isMissing(error: unknown): boolean {
  return ["not_found", "invalid_request"].includes(errorCodeOf(error) ?? "");
}

/** The input field that an error is about. */
export function errorFieldOf(error: unknown): string | null {
  return serviceErrorOf(error)?.param ?? null;
}

/** Whether the service did not answer in time. */
export function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "TimeoutError" || isTimeout(error.cause);
}

/** The message for the reader: what happened and what to do next. */
export function errorTextOf(error: unknown): string {
  if (isTimeout(error)) {
    return "The service did not answer in time. Try again; reload the page first to see whether a change was made.";
  }
  const failure = serviceErrorOf(error);
  if (failure === null) {
    if (!isRefused(error)) return "The service can't be reached. Check your connection and try again.";
    return `A proxy or firewall in front of the service refused the request (status ${statusOf(error)}). ${waitText(error)}`;
  }
  // The field's label is already next to the message.
  const { param, message } = failure;
  const text = message.replace(WAIT_ADVICE, () => waitText(error));
  return validationText(param === null ? text : text.replace(`${param}: `, ""));
}

/** How the service's messages end that leave the time to a header, which programs read and people do not see. */
const WAIT_ADVICE = /(?:Retry after the time in `retry-after`|Wait before you try again)\.$/;

/** When to try again, as far as a header of the answer says it in seconds. */
function waitText(error: unknown): string {
  const seconds = Number(answerOf(error)?.headers.get("retry-after"));
  if (!(seconds > 0)) return "Try again later.";
  const [count, unit] = seconds < 120 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
  return `Try again in ${count} ${unit}${count === 1 ? "" : "s"}.`;
}

/** As {@link errorTextOf}, for a query and for other calls that change nothing. */
export function loadErrorTextOf(error: unknown): string {
  return isTimeout(error) ? "The service did not answer in time. Try again." : errorTextOf(error);
}

/** Messages that name inputs of procedures or come from the schema library, and the text that replaces each. */
const VALIDATION_TEXTS: readonly (readonly [RegExp, (bound: string) => string])[] = [
  [/^too small: expected string to have >=1 characters/i, () => "This field is required."],
  [/^too small: expected string to have >=(\d+) characters/i, (min) => `Enter at least ${min} characters.`],
  [/^too big: expected string to have <=(\d+) characters/i, (max) => `Enter at most ${max} characters.`],
  [/^too small: expected array to have >=(\d+) items/i, (min) => `Enter at least ${min}.`],
  [/^too big: expected array to have <=(\d+) items/i, (max) => `Enter at most ${max}.`],
  [/^too small: expected \w+ to be >=?(-?\d+)/i, (min) => `Enter ${min} or more.`],
  [/^too big: expected \w+ to be <=?(-?\d+)/i, (max) => `Enter ${max} or less.`],
  [/^must not be before the beginning/i, () => "Choose the time in “From” or a later one."],
  [/^invalid email/i, () => "Enter a valid e-mail address."],
  [/^invalid (?:input|option|string|uuid|key)/i, () => "Enter a valid value."],
];

function validationText(message: string): string {
  for (const [pattern, text] of VALIDATION_TEXTS) {
    const match = pattern.exec(message);
    if (match !== null) return text(match[1] === undefined ? "" : BigInt(match[1]).toLocaleString("en"));
  }
  const sentence = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** The message for one input field; `undefined` when the error is about something else. */
export function errorTextAt(error: unknown, field: string): string | undefined {
  return errorFieldOf(error) === field ? errorTextOf(error) : undefined;
}

/**
 * The message for the top of a form, for errors that belong to none of its fields.
 *
 * @param textOf {@link loadErrorTextOf} for a form that changes nothing.
 */
export function errorTextBeside(
  error: unknown,
  fields: readonly string[],
  textOf = errorTextOf,
): string | null {
  if (error === null) return null;
  const field = errorFieldOf(error);
  return field !== null && fields.includes(field) ? null : textOf(error);
}

/**
 * The message for the top of a form whose change may have been made although no answer, or a failure, arrived: what holds then, and what to
 * do, follows. Where the change was refused, the words of the refusal are enough.
 */
export function changeErrorText(error: unknown, fields: readonly string[], advice: string): string | null {
  const text = errorTextBeside(error, fields);
  if (text === null || isRefused(error)) return text;
  if (isTimeout(error)) return `The service did not answer in time. ${advice}`;
  return `${isUnreachable(error) ? "The service can't be reached." : text} ${advice}`;
}
