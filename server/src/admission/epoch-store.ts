import type { Database } from "../database/database.ts";
import type { DatabaseEpochs, DatabasePosition } from "./database-epoch.ts";

/** The position of the database in its own history, in the row of `installation`. */
export function databaseEpochsIn(database: Database): DatabaseEpochs {
  return {
    async read(): Promise<DatabasePosition> {
      return only(
        await database<DatabasePosition[]>`
          select database_epoch as epoch, epoch_tick as tick from installation`,
      );
    },
    async advance(): Promise<DatabasePosition> {
      return only(
        await database<DatabasePosition[]>`
          update installation set epoch_tick = epoch_tick + 1
          returning database_epoch as epoch, epoch_tick as tick`,
      );
    },
    async begin(epoch: string): Promise<void> {
      // Two nodes that start together begin one epoch.
      await database`
        update installation set database_epoch = left(md5(gen_random_uuid()::text), 12)
        where database_epoch = ${epoch}`;
    },
  };
}

function only([row]: readonly DatabasePosition[]): DatabasePosition {
  if (row === undefined) throw new Error("the installation has no row");
  return row;
}
