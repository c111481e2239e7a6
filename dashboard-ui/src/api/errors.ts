import type { AppRouter } from "@ostiary/server/router";
import { TRPCClientError } from "@trpc/client";

function dataOf(error: unknown) {
  return error instanceof TRPCClientError ? (error as TRPCClientError<AppRouter>).data?.ostiary : undefined;
}

/** The service's code for an error; `null` when the service was not reached. */
export function errorCodeOf(error: unknown): string | null {
  return dataOf(error)?.code ?? null;
}

/** The input field that an error is about. */
export function errorFieldOf(error: unknown): string | null {
  return dataOf(error)?.param ?? null;
}

/** What to tell a person. */
export function errorTextOf(error: unknown): string {
  const data = dataOf(error);
  if (data === undefined) return "The service can't be reached. Check your connection and try again.";
  const text = error instanceof Error ? error.message : "Something went wrong.";
  // The name of the field is beside the words already.
  const words = data.param === null ? text : text.replace(`${data.param}: `, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
