import { errorTextBeside, isRefused, isTimeout, isUnreachable } from "../api/errors.ts";

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
