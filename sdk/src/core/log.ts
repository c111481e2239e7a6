import { OstiaryError } from "./errors.ts";

/** The destination of a client's log, such as `console`. */
export interface Logger {
  /** Takes details of requests and answers, with secrets removed. */
  debug(message: string, ...details: unknown[]): void;
  /** Takes requests with their outcome. */
  info(message: string, ...details: unknown[]): void;
  /** Takes retries and other problems that the client deals with. */
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

  constructor(logger: Logger, level: LogLevel) {
    this.#logger = logger;
    this.#level = LEVELS.indexOf(level);
  }

  warn(message: string, details: object): void {
    if (this.#level >= LEVELS.indexOf("warn")) this.#logger.warn(`[ostiary] ${message}`, details);
  }

  info(message: string, details: object): void {
    if (this.#level >= LEVELS.indexOf("info")) this.#logger.info(`[ostiary] ${message}`, details);
  }

  /** The details are made only if they are logged. */
  debug(message: string, details: () => object): void {
    if (this.#level >= LEVELS.indexOf("debug")) this.#logger.debug(`[ostiary] ${message}`, details());
  }
}

/** @throws {OstiaryError} there is no such level. */
export function logLevelOf(text: string | undefined): LogLevel {
  if (text === undefined) return "warn";
  const level = LEVELS.find((known) => known === text.toLowerCase());
  if (level === undefined) throw new OstiaryError(`The log level must be one of ${LEVELS.join(", ")}.`);
  return level;
}
