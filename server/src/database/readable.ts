import type { Statements } from "./database.ts";

/** SQLSTATE of a statement about a table that is not in the schemas that the session may use. */
export const CLOSED_TABLES = "42P01";

/**
 * Resolves if the session may read the keys, without which no request can be answered. A server whose schema or tables were closed to the service's user
 * still answers other statements. The statement reads no table, so that it waits for no lock, such as that of a migration.
 */
export async function requireReadable(database: Pick<Statements, "unsafe">): Promise<void> {
  await database.unsafe(`
    do $$ begin
      if not coalesce(has_table_privilege(to_regclass('keys'), 'select'), false) then
        raise exception using errcode = '${CLOSED_TABLES}', message = case
          when to_regclass('keys') is null then 'there is no table keys in the schemas that ' || current_user || ' may use'
          else 'permission to read the table keys is denied to ' || current_user end;
      end if;
    end $$`);
}
