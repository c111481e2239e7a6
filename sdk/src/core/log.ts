import { functionOf } from "./checks.ts";
import { notify } from "./client-events.ts";
import { OstiaryError } from "./errors.ts";

/** The destination of a client's log, such as `console`. */
export interface Logger {
  /** Takes each request and its outcome, with secrets removed. */
  debug(message: string, ...details: unknown[]): void;
  /** Takes retries. */
  info(message: string, ...details: unknown[]): void;
  /** Takes problems that the client deals with. */
  warn(message: string, ...details: unknown[]): void;
  /** Takes failures. */
  error(message: string, ...details: unknown[]): void;
}

/** How much a client logs: each level includes those before it. */
export type LogLevel = "off" | "error" | "warn" | "info" | "debug";
const LEVELS: readonly LogLevel[] = ["off", "error", "warn", "info", "debug"];

/** Logs messages up to its level. Callers never pass keys, tokens, prompts or answers. */
export class Log {
  readonly #logger: Logger;
  readonly #level: number;

  /** @throws {OstiaryError} the logger lacks a function, which JavaScript does not prevent. */
  constructor(logger: Logger, level: LogLevel) {
    for (const name of ["debug", "info", "warn", "error"] as const)
      functionOf(`logger.${name}`, logger[name]);
    this.#logger = logger;
    this.#level = LEVELS.indexOf(level);
  }

  /** The details are made only if they are logged. */
  write(level: "info" | "debug", message: string, details: () => object): void {
    if (this.#level < LEVELS.indexOf(level)) return;
    notify(
      [(text: string, said: object) => this.#logger[level](text, said)],
      [`[ostiary] ${message}`, details()],
    );
  }
}

/** @throws {OstiaryError} there is no such level. */
export function logLevelOf(text: string | undefined): LogLevel {
  if (text === undefined) return "warn";
  const level = LEVELS.find((known) => known === text.toLowerCase());
  if (level === undefined) throw new OstiaryError(`The log level must be one of ${LEVELS.join(", ")}.`);
  return level;
}
