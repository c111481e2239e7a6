import { spawn } from "node:child_process";

/** A program with its arguments and user. It never contains a secret, because arguments and environment are readable. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The user to run as. Only root can set it. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** How a program ended. `code` is null when a signal ended it or it could not be started. */
export interface Outcome {
  readonly code: number | null;
  /** The program's output on both streams, or the reason why it could not be started. */
  readonly output: string;
}

/** The environment of all programs. The service's own contains secrets, and `PG*` variables that would take effect. */
export const PLAIN_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
};

/** Options for `spawn`. In its own session, the program does not receive the terminal's Ctrl-C. */
export function spawnOptions(command: Command) {
  return { cwd: command.cwd, env: { ...command.env }, detached: true, ...command.user };
}

/** Runs a program to its end. The outcome also reports a program that cannot be started. */
export function run(command: Command, input = ""): Promise<Outcome> {
  return new Promise((resolve) => {
    try {
      const child = spawn(command.file, [...command.args], {
        ...spawnOptions(command),
        stdio: ["pipe", "pipe", "pipe"],
      });
      let output = "";
      child.stdout.on("data", (chunk) => (output += String(chunk)));
      child.stderr.on("data", (chunk) => (output += String(chunk)));
      child.once("error", (error) => resolve({ code: null, output: error.message }));
      child.once("close", (code) => resolve({ code, output }));
      // A program that ends without reading its input breaks the pipe.
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    } catch (error) {
      // Deno throws what Node reports as an event.
      resolve({ code: null, output: error instanceof Error ? error.message : String(error) });
    }
  });
}
