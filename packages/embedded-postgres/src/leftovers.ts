import { readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import type { EventLog } from "./event-log.ts";
import { SOCKET_NAME } from "./folders.ts";
import { pollUntil } from "./poll.ts";
import { processesMarked } from "./process-table.ts";

const FAST_SHUTDOWN_TIMEOUT_MS = 60_000;
const ORPHANS_TIMEOUT_MS = 2_000;
const KILL_TIMEOUT_MS = 5_000;

export interface Remains {
  readonly cluster: string;
  readonly socketFolder: string;
  /** See {@link clusterMarker}. */
  readonly marker: string;
  readonly log: EventLog;
}

/**
 * Ends the processes that an earlier server of this cluster left behind, so that a new one can start.
 *
 * A server that outlived its service is stopped, not adopted: a new server has this version's programs and settings and is
 * a child process, whose exit the service observes. The stop takes some milliseconds. Servers are found by their processes and not by the
 * pid file, whose pid may be a zombie's or another program's by now. Postgres would refuse to
 * start because of either.
 *
 * @throws {EmbeddedPostgresError} a process cannot be stopped.
 */
export async function clearLeftovers(remains: Remains): Promise<void> {
  const { cluster, socketFolder, marker, log } = remains;
  const noneRuns = async () => (await processesMarked(marker)).length === 0;
  const pidFile = join(cluster, "postmaster.pid");

  if (!(await noneRuns())) {
    const running = await processesMarked(marker);
    const postmaster = Number.parseInt(await readFile(pidFile, "utf8").catch(() => ""), 10);
    if (running.includes(postmaster)) {
      log("a bundled PostgreSQL of an earlier run is still there: stopping it", "info");
      signal([postmaster], "SIGINT", cluster);
      // Suspended processes would not follow it.
      signal(running, "SIGCONT", cluster);
      await pollUntil(noneRuns, FAST_SHUTDOWN_TIMEOUT_MS);
    }
    // Without their postmaster they end by themselves once idle.
    await pollUntil(noneRuns, ORPHANS_TIMEOUT_MS);
    for (const last of ["SIGQUIT", "SIGKILL"] as const) {
      signal(await processesMarked(marker), last, cluster);
      if (await pollUntil(noneRuns, KILL_TIMEOUT_MS)) break;
    }
    const [survivor] = await processesMarked(marker);
    if (survivor !== undefined) {
      throw new EmbeddedPostgresError(
        `Process ${survivor} still works on ${cluster} and can't be stopped; restart the machine.`,
      );
    }
  }
  if (await answers(join(socketFolder, SOCKET_NAME))) {
    // The process is not in this process table, so it runs in another container.
    throw new EmbeddedPostgresError(
      `Another container runs PostgreSQL on ${cluster}; stop that container first.`,
    );
  }
  await rm(pidFile, { force: true });
  await rm(join(socketFolder, SOCKET_NAME), { force: true });
  await rm(join(socketFolder, `${SOCKET_NAME}.lock`), { force: true });
}

/**
 * A text on the command line of every process of a cluster (Postgres puts its `cluster_name` there). It contains the folder's
 * inode, not its path: the inode stays the same when the folder is moved, and a copy has another.
 */
export async function clusterMarker(cluster: string): Promise<string> {
  const { dev, ino } = await stat(cluster, { bigint: true });
  return `ostiary.${dev}.${ino}.`;
}

function signal(pids: readonly number[], name: NodeJS.Signals, cluster: string): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      if (code === "ESRCH") continue;
      throw new EmbeddedPostgresError(
        `PostgreSQL (process ${pid}) of another user works on ${cluster}; stop it first: sudo kill -INT ${pid}`,
        { cause: error },
      );
    }
  }
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path: socketPath });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}
