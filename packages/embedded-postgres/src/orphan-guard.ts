import { type ChildProcess, spawn } from "node:child_process";
import { type Command, spawnOptions } from "./command.ts";
import type { EventLog } from "./event-log.ts";

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

export type OrphanGuard = ReturnType<typeof startOrphanGuard>;

/**
 * Starts a process beside the server that ends the server when the service is killed. It begins with a fast shutdown, which writes
 * everything to disk. It runs as the server's user, who may always signal the server.
 *
 * @param command runs {@link GUARD_SCRIPT}.
 * @param marker see {@link clusterMarker}.
 */
export function startOrphanGuard(command: Command, marker: string, log: EventLog) {
  let child: ChildProcess | null = null;
  let watched: number | null = null;
  let restartMs = FIRST_RESTART_MS;
  let restart: NodeJS.Timeout | undefined;
  let isStopped = false;

  const tell = () => child?.stdin?.write(`${watched ?? ""}\n`);

  const ended = (which: ChildProcess | null, reason: string) => {
    // An exit may follow an error.
    if (child !== which || isStopped) return;
    child = null;
    log(
      `the process that ends the bundled PostgreSQL if the service is killed has ended (${reason}): starting it again`,
      "error",
    );
    restart = setTimeout(start, restartMs);
    restart.unref();
    restartMs = Math.min(restartMs * 2, MAX_RESTART_MS);
  };

  const start = () => {
    try {
      const started = spawn(command.file, [...command.args], {
        ...spawnOptions(command),
        stdio: ["pipe", "ignore", "ignore"],
      });
      child = started;
      started.once("error", (error) => ended(started, error.message));
      started.once("exit", (code, signal) => ended(started, signal ?? `exit code ${code}`));
      // A guard that has ended breaks the pipe. The `exit` event reports it.
      started.stdin.on("error", () => {});
      started.unref();
      started.stdin.write(`${marker}\n`);
      tell();
    } catch (error) {
      // Deno throws what Node reports as an event.
      ended(null, error instanceof Error ? error.message : String(error));
    }
  };

  start();
  return {
    /** Sets the server to end; `null` if none runs. */
    watch: (pid: number | null) => {
      watched = pid;
      tell();
    },
    /** Ends the guard, and a server that is still watched. */
    stop: () => {
      isStopped = true;
      clearTimeout(restart);
      child?.stdin?.end();
    },
  };
}
