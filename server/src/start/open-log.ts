import { destination, type Logger, pino, stdTimeFunctions } from "pino";
import { recordablePath } from "../contract/recorded-text.ts";
import type { AccessLog } from "../request/services.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import type { Startup } from "./startup.ts";

type LogLevel = "debug" | "info" | "warn" | "error" | "fatal" | "silent";

const STDERR = 2;
/** Lines that can't be written are kept until a later line can be, up to this size in all. Further lines, and a longer line, are lost. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Opens the log: lines of JSON on standard error, with the level as a word and the time in ISO 8601. Whatever an error's message
 * contains, no key is written.
 */
export function openLog(level: LogLevel, fd = STDERR): Logger {
  const options = {
    level,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: withoutSecrets },
  };
  const output = destination({ fd, sync: true, maxLength: MAX_WAITING_BYTES });
  // The service keeps running while its log can't be written, such as on a full disk. Pending lines are tried again with each new line.
  output.on("error", () => {});
  output.on("drop", () => output.write(""));
  // Every line is written at once, so nothing has to be flushed. The original function would not return before the disk has space.
  output.flushSync = () => {};
  return pino(options, output);
}

/** Opens the access log, which does not depend on the level of the log; `null` if it is not configured. */
export function openAccessLog({ settings, log }: Pick<Startup, "settings" | "log">): AccessLog | null {
  if (!settings.config.accessLog) return null;
  const lines = log.child({}, { level: "info" });
  return (line) => lines.info({ ...line, path: recordablePath(line.path) }, "request");
}
