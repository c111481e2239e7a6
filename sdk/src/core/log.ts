import { OstiaryError } from "./errors.ts";

/** Where a client tells what it does: `console` is one. */
export interface Logger {
  debug(message: string, ...details: unknown[]): void;
  info(message: string, ...details: unknown[]): void;
  warn(message: string, ...details: unknown[]): void;
  error(message: string, ...details: unknown[]): void;
}

/** How much a client tells: each level tells what those before it do. */
export type LogLevel = "off" | "error" | "warn" | "info" | "debug";
const LEVELS: readonly LogLevel[] = ["off", "error", "warn", "info", "debug"];

/** Tells what is asked for. Keys, tokens, prompts and answers are in nothing that it is told. */
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

  debug(message: string, details: object): void {
    if (this.#level >= LEVELS.indexOf("debug")) this.#logger.debug(`[ostiary] ${message}`, details);
  }
}

/** @throws {OstiaryError} there is no such level. */
export function logLevelOf(text: string | undefined): LogLevel {
  if (text === undefined) return "warn";
  const level = LEVELS.find((known) => known === text.toLowerCase());
  if (level === undefined) throw new OstiaryError(`The log level must be one of ${LEVELS.join(", ")}.`);
  return level;
}
