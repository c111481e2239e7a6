import { type Failure, toFailure } from "./failure.ts";

/** What an error tells a person: a line for each of its problems, without a stack trace. */
export function problemsOf(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [String(error)];
  if ("problems" in error && Array.isArray(error.problems)) return error.problems.map(String);
  return [error.message.trim().split("\n", 1)[0] ?? "unknown error"];
}

/**
 * What the log says of a failed request: of a fault of the service the error with its stack; of a store or an upstream that is away, which
 * may fail many requests, the messages alone.
 */
export function loggedOf(failure: Failure): LoggedReason & { readonly code: string } {
  const { code, cause } = failure;
  return code === "internal_error"
    ? { code, err: cause ?? failure }
    : { code, reason: [...messagesOf(cause ?? failure)].join(": ") };
}

/** What the log says of an error that is no request's. */
export function reasonOf(error: unknown): LoggedReason {
  const { code, ...reason } = loggedOf(toFailure(error));
  return reason;
}

interface LoggedReason {
  readonly err?: unknown;
  readonly reason?: string;
}

/** An error has at most this many causes whose messages are logged. */
const MAX_CAUSES = 8;

const LINE_BREAK = /[\r\n]/;
const ENDING = /[\s.:]/;

/** A message on one line, without what ends it. OpenSSL's end with a line break. */
function asClause(message: string): string {
  const lines = message.split(LINE_BREAK).map((line) => line.trim());
  const text = lines.filter((line) => line !== "").join(" ");
  let end = text.length;
  while (end > 0 && ENDING.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The messages of an error and of its causes. */
function* messagesOf(error: unknown): Generator<string> {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && at !== undefined && at !== null; depth++) {
    if (!(at instanceof Error)) return yield String(at);
    // An error of several addresses, none of which can be connected to, has a code and no message.
    yield asClause(at.message) || ("code" in at ? String(at.code) : at.name);
    at = at.cause;
  }
}
