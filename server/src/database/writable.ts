import postgres from "postgres";
import type { Statements } from "./database.ts";

/** SQLSTATE of a statement that would write, in a session that may not: on a replica, or by a setting of the server. */
export const READ_ONLY = "25006";

/**
 * Resolves if the server accepts writes. Otherwise the server itself raises the error that a statement that writes would fail with, so that the
 * connection is not used again: a new one may lead to another server.
 */
export async function requireWritable(database: Pick<Statements, "unsafe">): Promise<void> {
  await database.unsafe(`
    do $$ begin
      if current_setting('transaction_read_only')::boolean then
        raise exception using errcode = '${READ_ONLY}', message = case
          when pg_is_in_recovery() then 'it is a replica, which accepts no writes'
          else 'it accepts no writes, because default_transaction_read_only is on' end;
      end if;
    end $$`);
}

/** Whether the error says that the session may not write. */
export function refusesWrites(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === READ_ONLY;
}
