import type { Command } from "commander";
import { lastingProblem } from "../core/connection-problem.ts";
import { APIConnectionTimeoutError, type APIError } from "../core/errors.ts";

/** The fields whose options or arguments have other names, and these names. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  accountName: "name",
  amountNanoUsd: "usd",
  groupBy: "by",
  idleAfterSeconds: "idleAfter",
  messages: "prompt",
  replacement: "with",
};

/** The service's message, with the option or argument of the command in place of the field at fault: `--error-code` for `error_code`. */
export function refusal({ message, param }: APIError, command: Command | undefined): string {
  if (param === null || command === undefined || !message.startsWith(`${param}: `)) return message;
  for (const part of param.split(".")) {
    const field = part.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const name = partOf(command, OTHER_NAMES[field] ?? field) ?? partOf(command, field);
    if (name !== undefined) return name + message.slice(param.length);
  }
  return message;
}

/** A command's option or argument of this name, as it is written. */
function partOf({ options, registeredArguments }: Command, name: string): string | undefined {
  const option = options.find((known) => known.attributeName() === name);
  if (option !== undefined) return option.long ?? option.flags;
  return registeredArguments.some((known) => known.name() === name) ? `<${name}>` : undefined;
}

/** Why the service could not be reached, with the reason that the runtime gives, such as a connection that is refused. */
export function connectionProblem(error: Error): string {
  if (error instanceof APIConnectionTimeoutError) {
    // Its cause is that the request was aborted then.
    return error.message.replace(`\`${error.option}\``, "--timeout");
  }
  if (lastingProblem(error) !== null) return error.message;
  let deepest = error;
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  // An error of several addresses has a code and no message.
  const reason = deepest.message || ("code" in deepest ? String(deepest.code) : deepest.name);
  if (deepest === error) return error.message;
  // Messages of OpenSSL end with a line break.
  const clauses = [error.message, reason].map((text) =>
    text.replace(/\s*[\r\n]\s*/g, " ").replace(/[\s.:]+$/, ""),
  );
  return `${clauses.join(": ")}.`;
}
