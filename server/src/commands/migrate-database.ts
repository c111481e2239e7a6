import type { Database } from "../database/database.ts";
import { migrate } from "../database/migrate.ts";
import type { Findings } from "./findings.ts";

/** Brings the schema up to date. @throws {Error} when the database was migrated by a newer version of the service. */
export async function migrateDatabase(database: Database, migrations: URL): Promise<Findings> {
  const { missing: applied } = await migrate(database, migrations);
  const lines = applied.map((file) => `applied ${file}`);
  return { lines: [...lines, "The schema is up to date."], problems: [] };
}
