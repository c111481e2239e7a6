import { connect } from "node:net";
import process from "node:process";
import { problemsOf } from "../errors/problems.ts";
import { codeOf, fileReasonOf, fileRemedyOf } from "../errors/system-errors.ts";
import { openLog } from "./open-log.ts";

/** How long a start waits to find out whether a process listens on its port. */
const CONNECT_TIMEOUT_MS = 1_000;

/** A reason not to start, in one line that tells the operator what to do. */
export class StartupFailure extends Error {
  override readonly name = "StartupFailure";
}

/** Tells why the service can't start, whatever the level of the log is: as text on a terminal, otherwise as lines of the log. */
export function reportStartupFailure(error: unknown): void {
  const log = openLog("fatal");
  for (const problem of problemsOf(error)) {
    if (process.stderr.isTTY) process.stderr.write(`${problem}\n`);
    else log.fatal(problem);
  }
}

/** A setting that has a port of the service. */
export type PortSetting = "PORT" | "OSTIARY_METRICS_PORT";

/** Why a socket could not be listened on. */
export async function listenFailure(
  error: unknown,
  { host, port }: { readonly host: string; readonly port: number },
  setting: PortSetting,
): Promise<StartupFailure> {
  const code = codeOf(error);
  const name = error instanceof Error ? error.name : "";
  if (code === "EADDRINUSE" || name === "AddrInUse") {
    const remedy = (await refusesConnections(host, port))
      ? "No process listens on it: a connection to another server has it, or had it within the last minute. Start again in a minute"
      : "Stop the process that listens on it";
    return new StartupFailure(
      `Port ${port} of ${host} is in use. ${remedy}, or set ${setting} to another port.`,
    );
  }
  if (code === "EACCES" || name === "PermissionDenied") {
    return new StartupFailure(
      `Listening on port ${port} is not permitted. Set ${setting} to 1024 or higher.`,
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || name === "AddrNotAvailable") {
    return new StartupFailure(
      `This machine does not have the address ${host}. Set HOST to an address of this machine.`,
    );
  }
  const remedy = fileRemedyOf(error);
  if (remedy !== null) {
    return new StartupFailure(`Cannot listen on ${host}:${port}: ${fileReasonOf(error)}. ${remedy}`);
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new StartupFailure(`Cannot listen on ${host}:${port}: ${reason}`);
}

/** Whether no process listens on a port of this machine. For the address of all interfaces that is unknown: one may listen on a single interface. */
async function refusesConnections(host: string, port: number): Promise<boolean> {
  if (host === "0.0.0.0" || host === "::") return false;
  const socket = connect({ host, port, timeout: CONNECT_TIMEOUT_MS });
  try {
    return await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(false));
      socket.once("timeout", () => resolve(false));
      socket.once("error", (error) => resolve(codeOf(error) === "ECONNREFUSED"));
    });
  } finally {
    socket.destroy();
  }
}
