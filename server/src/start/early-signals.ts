import process from "node:process";
import { isatty } from "node:tty";

const STOPPING = ["SIGTERM", "SIGINT"] as const;

/**
 * Handles signals while the program is being loaded, which takes a second or more on a busy machine. Call it before anything else is imported.
 *
 * SIGTERM and SIGINT end the process: nothing is open yet. Without a listener the system would not pass them on to the first process of a container.
 * SIGHUP does nothing, then and later, unless a part of the service listens for it, too. By default it would end the process, which systemd would
 * not start again. A process on a terminal ends with its terminal.
 */
export function handleEarlySignals(): void {
  for (const signal of STOPPING) process.on(signal, end);
  if (!isatty(0)) process.on("SIGHUP", () => {});
}

/** Leaves SIGTERM and SIGINT to the caller's own listeners. */
export function endEarlySignals(): void {
  for (const signal of STOPPING) process.off(signal, end);
}

function end(): void {
  process.exit(0);
}
