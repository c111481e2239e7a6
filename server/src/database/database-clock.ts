import type { Database } from "./database.ts";

/** The time by the database's clock. */
export async function readDatabaseClock(database: Database): Promise<Date> {
  const [row] = await database<{ now: Date }[]>`select clock_timestamp() as now`;
  if (row === undefined) throw new Error("the database returned no time");
  return row.now;
}
