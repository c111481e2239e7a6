import { type ChildProcess, spawn } from "node:child_process";
import { type Command, spawnOptions } from "./command.ts";

const FIRST_RESTART_MS = 1_000;
const MAX_RESTART_MS = 60_000;

/**
 * The guard's script. Its standard input is a pipe that only the service holds, so it ends when the service ends
 * for any reason. The last line is then the pid of the server, or empty without a server.
 *
 * The pid may belong to another program by then. The server is recognised by the marker on its command line, which is read
 * from /proc, or from ps on systems without it. The guard receives the marker on standard input: on its own command line, it would make the
 * guard look like a process of the server.
 */
export const GUARD_SCRIPT = `
trap '' HUP INT TERM
read -r marker || exit 0
pid=
while read -r line; do pid=$line; done
runs() {
  { cat "/proc/$pid/cmdline" || ps -p "$pid" -o command=; } 2>/dev/null | grep -qF -- "$marker"
}
[ -n "$pid" ] || exit 0
for step in INT:60 QUIT:10 KILL:10; do
  runs || exit 0
  kill -s "\${step%:*}" "$pid"
  seconds=\${step#*:}
  while [ "$seconds" -gt 0 ] && runs; do
    sleep 1
    seconds=$((seconds - 1))
  done
done
`;

/**
 * A process beside the server that ends the server when the service is killed. It begins with a fast shutdown, which writes
 * everything to disk. It runs as the server's user, who may always signal the server.
 */
export class OrphanGuard {
  readonly #command: Command;
  readonly #marker: string;
  readonly #log: (message: string) => void;
  #child: ChildProcess | null = null;
  #watched: number | null = null;
  #restartMs = FIRST_RESTART_MS;
  #restart: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** `command` runs {@link GUARD_SCRIPT}; `marker`: see {@link clusterMarker}. */
  constructor(command: Command, marker: string, log: (message: string) => void) {
    this.#command = command;
    this.#marker = marker;
    this.#log = log;
    this.#start();
  }

  /** Sets the server to end; `null` if none runs. */
  watch(pid: number | null): void {
    this.#watched = pid;
    this.#tell();
  }

  /** Ends the guard, and a server that is still watched. */
  stop(): void {
    this.#isStopped = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#child?.stdin?.end();
  }

  #start(): void {
    try {
      const { file, args } = this.#command;
      const child = spawn(file, [...args], {
        ...spawnOptions(this.#command),
        stdio: ["pipe", "ignore", "ignore"],
      });
      this.#child = child;
      child.once("error", (error) => this.#ended(child, error.message));
      child.once("exit", (code, signal) => this.#ended(child, signal ?? `exit code ${code}`));
      // A guard that has ended breaks the pipe. The `exit` event reports it.
      child.stdin?.on("error", () => {});
      child.unref();
      child.stdin?.write(`${this.#marker}\n`);
      this.#tell();
    } catch (error) {
      // Deno throws what Node reports as an event.
      this.#ended(null, error instanceof Error ? error.message : String(error));
    }
  }

  #tell(): void {
    this.#child?.stdin?.write(`${this.#watched ?? ""}\n`);
  }

  #ended(child: ChildProcess | null, reason: string): void {
    // An exit may follow an error.
    if (this.#child !== child || this.#isStopped) return;
    this.#child = null;
    this.#log(
      `the process that ends the embedded PostgreSQL if the service is killed has ended (${reason}): starting it again`,
    );
    this.#restart = setTimeout(() => this.#start(), this.#restartMs);
    this.#restart.unref();
    this.#restartMs = Math.min(this.#restartMs * 2, MAX_RESTART_MS);
  }
}
