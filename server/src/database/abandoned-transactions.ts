import type { Database } from "./database.ts";
import { IS_OF_SERVICE } from "./session-settings.ts";

/** A node that works has sent all of a statement long before: the statement's own deadline is shorter. */
const ABANDONED_AFTER_S = 10;

/**
 * Ends transactions of nodes that have stopped in the middle of a statement, such as a frozen process. Until its client continues, the
 * server waits for the statement's parameters, or for lines to copy, without a timeout, and keeps the locks of accounts that other nodes
 * need. The node repeats what it has not committed.
 *
 * @param afterS is shorter in tests.
 * @returns how many it has ended.
 */
export async function endAbandonedTransactions(
  database: Database,
  afterS = ABANDONED_AFTER_S,
): Promise<number> {
  const rows = await database<{ isEnded: boolean }[]>`
    select pg_terminate_backend(pid) as "isEnded" from pg_stat_activity
    where datname = current_database() and ${database.unsafe(IS_OF_SERVICE)}
      and pid <> pg_backend_pid() and state = 'active' and wait_event = 'ClientRead' and xact_start is not null
      and query_start < clock_timestamp() - ${afterS} * interval '1 second'`;
  return rows.filter(({ isEnded }) => isEnded).length;
}
