import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { lockDataDir } from "../database/data-dir-lock.ts";
import type { Database } from "../database/database.ts";
import { openDataDir } from "../start/data-dir.ts";
import { openConfiguredDatabase } from "../start/open-stores.ts";

/**
 * Opens the configured database for as long as `use` takes. The embedded one needs the data folder, which a running service has locked.
 *
 * @throws {StartupFailure} if the database can't be used.
 */
export async function withDatabase<Result>(
  config: Config,
  log: Logger,
  use: (database: Database) => Promise<Result>,
): Promise<Result> {
  if (config.databaseUrl === null) await openDataDir(config.dataDir);
  const lock = config.databaseUrl === null ? await lockDataDir(config.dataDir) : null;
  try {
    const { database, close } = await openConfiguredDatabase(config, log);
    try {
      return await use(database);
    } finally {
      await close();
    }
  } finally {
    await lock?.release();
  }
}
