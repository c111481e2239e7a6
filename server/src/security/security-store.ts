import { v7 as uuidv7 } from "uuid";
import type { AccountId } from "../contract/account.ts";
import { type Database, inTransaction, LONG_READ_TIMEOUT_MS } from "../database/database.ts";
import { deleteInBatches } from "../database/delete-in-batches.ts";
import type { EventGroup } from "./event-groups.ts";
import type { ListedSecurityEvent, SecurityCursor, SecurityFilter } from "./security-log.ts";

/** Maps those of the e-mail addresses that belong to users to their accounts; an operator has none. */
export async function findUsers(
  sql: Database,
  emails: readonly string[],
): Promise<ReadonlyMap<string, AccountId | null>> {
  // Uses users_email_key.
  const rows = await sql<{ email: string; account_id: AccountId | null }[]>`
    select email, account_id from users
    where email in (select value from jsonb_array_elements_text(${sql.json([...emails])}))`;
  return new Map(rows.map((row) => [row.email, row.account_id]));
}

/** Adds the counts to those of existing groups. */
export async function addEvents(database: Database, groups: readonly EventGroup[]): Promise<void> {
  const rows = groups.map((group) => ({ ...group, id: uuidv7() }));
  // Uses security_events_group, and locks its rows in order, so that batches of two nodes do not deadlock. Equal groups are
  // summed first, because one statement must not update a row twice.
  await inTransaction(
    database,
    (sql) => sql`
      insert into security_events as event
        (hour, kind, account_id, key_id, user_email, source_ip, upstream, id, count, first_at, last_at)
      select hour, kind, "accountId", "keyId", email, "sourceIp", upstream,
             (array_agg(id))[1], sum(count), min("firstAt"), max("lastAt")
      from jsonb_to_recordset(${sql.json(rows)}) as row (
        id uuid, hour timestamptz, kind text, "accountId" uuid, "keyId" text, email text, "sourceIp" inet,
        upstream text, count bigint, "firstAt" timestamptz, "lastAt" timestamptz
      )
      group by 1, 2, 3, 4, 5, 6, 7
      order by 1, 2, 3, 4, 5, 6, 7
      on conflict on constraint security_events_group do update set
        count = event.count + excluded.count,
        first_at = least(event.first_at, excluded.first_at),
        last_at = greatest(event.last_at, excluded.last_at)`,
  );
}

/** Returns groups after the cursor, last seen first. */
export async function listEvents(
  database: Database,
  { kind, accountId, source }: SecurityFilter,
  after: SecurityCursor | null,
  limit: number,
): Promise<readonly ListedSecurityEvent[]> {
  const sql = database.withTimeout(LONG_READ_TIMEOUT_MS);
  // Walks security_events_by_time, _by_kind or _by_account from the cursor. A source with few events
  // is searched in all of them: 0.3 s for a million.
  return sql<ListedSecurityEvent[]>`
    select event.id, event.kind, event.count::float8 as count, event.first_at as "firstAt", event.last_at as "lastAt",
           case when event.account_id is not null
             then json_build_object('id', event.account_id, 'name', coalesce(accounts.name, ''))
           end as account,
           event.key_id as "keyId", event.user_email as "userEmail", host(event.source_ip) as "sourceIp",
           event.upstream
    from security_events event
    left join accounts on accounts.id = event.account_id
    where true
      ${kind === null ? sql`` : sql`and event.kind = ${kind}`}
      ${accountId === null ? sql`` : sql`and event.account_id = ${accountId}`}
      ${source === null ? sql`` : sql`and event.source_ip <<= ${source}::text::inet`}
      ${after === null ? sql`` : sql`and (event.last_at, event.id) < (${after.lastAt}, ${after.id})`}
    order by event.last_at desc, event.id desc
    limit ${limit}`;
}

/** Deletes events older than 90 days, in batches. Any node may run this at any time. */
export async function dropOldSecurityEvents(database: Database, now: Date): Promise<void> {
  // Uses security_events_group.
  await deleteInBatches(database, {
    from: "security_events",
    where: database`hour < ${now}::timestamptz - interval '90 days'`,
  });
}
