import { destination, type Logger, pino, stdTimeFunctions } from "pino";
import type { AccessLog } from "../request/services.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import type { Startup } from "./startup.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/**
 * Opens the log: lines of JSON on standard error, with the level as a word and the time in ISO 8601. Whatever an error's message
 * contains, no key is written.
 */
export function openLog(level: LogLevel): Logger {
  const options = {
    level,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: withoutSecrets },
  };
  return pino(options, destination({ fd: 2, sync: true }));
}

/** Opens the access log, which does not depend on the level of the log; `null` if it is not configured. */
export function openAccessLog({ settings, log }: Pick<Startup, "settings" | "log">): AccessLog | null {
  if (!settings.config.accessLog) return null;
  const lines = log.child({}, { level: "info" });
  return (line) => lines.info(line, "request");
}
