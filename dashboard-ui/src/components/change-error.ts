import type { AppRouter } from "@ostiary/server/router";
import type { TRPCClientError } from "@trpc/client";
import { errorTextBeside, isTimeout, isUnreachable } from "../api/errors.ts";

/**
 * The message for the top of a form whose change may have been made although no answer, or a failure, arrived: what holds then, and what to
 * do, follows. Where the service refused the change, its own words are enough.
 */
export function changeErrorText(error: unknown, fields: readonly string[], advice: string): string | null {
  const text = errorTextBeside(error, fields);
  const status = (error as TRPCClientError<AppRouter> | null)?.data?.httpStatus;
  if (text === null || (status !== undefined && status < 500)) return text;
  if (isTimeout(error)) return `The service did not answer in time. ${advice}`;
  return `${isUnreachable(error) ? "The service can't be reached." : text} ${advice}`;
}
