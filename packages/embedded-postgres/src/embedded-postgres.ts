import { findBinaries } from "./binaries.ts";
import { openCluster, prepareCluster } from "./cluster.ts";
import { roomRemedy } from "./disk-full.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import type { EventLog } from "./event-log.ts";
import { makeSocketFolder, openFolders, PORT } from "./folders.ts";
import { keepRunning } from "./keep-running.ts";
import { clearLeftovers, clusterMarker } from "./leftovers.ts";
import { beginLogFile } from "./log-file.ts";
import { GUARD_SCRIPT, startOrphanGuard } from "./orphan-guard.ts";
import { Postmaster } from "./postmaster.ts";
import { findRunner } from "./runner.ts";
import { DATABASE_NAME, DATABASE_USER } from "./settings.ts";

export { EmbeddedPostgresError };

export interface EmbeddedPostgresOptions {
  /** `OSTIARY_DATA_DIR`, absolute. Created if absent. The caller holds its lock (`lockDataDir`). */
  readonly dataDir: string;
  readonly log: EventLog;
}

export interface EmbeddedPostgres {
  /**
   * Connection options for porsager `postgres({ host, port, user, password, database })`; `host` is the socket's folder. They
   * stay the same when the server is restarted.
   */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly database: string;
  };
  /** Ends open connections, lets the server write everything to disk, and resolves when its process has ended. */
  stop(): Promise<void>;
}

/**
 * Starts this service's own PostgreSQL. The first start creates it in `<dataDir>/postgres`. It listens only on a unix socket
 * and is restarted when it dies.
 *
 * @throws {EmbeddedPostgresError} it cannot run here.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    return await start(options);
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause;
    // The cause is an error of the system: a missing permission, a full disk, or a folder in place of a file.
    const reason = cause instanceof Error ? cause.message.split("\n", 1)[0] : String(cause);
    const remedy = roomRemedy(reason ?? "") || "; make it writable, or set OSTIARY_DATA_DIR";
    throw new EmbeddedPostgresError(
      `The bundled PostgreSQL can't use ${options.dataDir} (${reason})${remedy}.`,
      { cause },
    );
  }
}

async function start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options;
  const native = findBinaries();
  const folders = await openFolders(options.dataDir);
  const runner = await findRunner(folders, native);
  const socketFolder = await makeSocketFolder(folders.dataDir, runner.owner, runner.reachesDataDir);
  const password = await openCluster(folders, runner, socketFolder);
  const logFile = await beginLogFile(folders.logFile);
  const marker = await clusterMarker(folders.cluster);

  const args = ["-D", runner.clusterArgument(folders.cluster), "-c", `cluster_name=${marker}`];
  const command = runner.command("postgres", args, folders.cluster);
  const guard = startOrphanGuard(runner.script(GUARD_SCRIPT), marker, log);
  const launch = async (abort: AbortSignal) => {
    await clearLeftovers({ cluster: folders.cluster, socketFolder, marker, log });
    await prepareCluster(folders, runner, socketFolder);
    return Postmaster.start(command, { cluster: folders.cluster, log: logFile, guard, abort });
  };

  const end = () => {
    guard.stop();
    logFile.end();
  };
  try {
    const server = await keepRunning(launch, log);
    return {
      connection: { host: socketFolder, port: PORT, user: DATABASE_USER, password, database: DATABASE_NAME },
      stop: async () => {
        await server.stop();
        end();
      },
    };
  } catch (error) {
    end();
    throw error;
  }
}
