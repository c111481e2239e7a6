import type { Database } from "./database.ts";

/** What time it is by the database's clock. */
export async function readDatabaseClock(database: Database): Promise<Date> {
  const [row] = await database<{ now: Date }[]>`select clock_timestamp() as now`;
  if (row === undefined) throw new Error("the database has told no time");
  return row.now;
}
