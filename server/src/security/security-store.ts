import { v7 as uuidv7 } from "uuid";
import type { AccountId } from "../contract/account.ts";
import type { SecurityEventId, SecurityEventKind } from "../contract/security-event.ts";
import {
  BACKGROUND_TIMEOUT_MS,
  type Database,
  inTransaction,
  LONG_READ_TIMEOUT_MS,
} from "../database/database.ts";
import type { EventGroup } from "./event-groups.ts";
import type { ListedSecurityEvent, SecurityCursor, SecurityFilter } from "./security-log.ts";

interface EventRow {
  id: SecurityEventId;
  kind: SecurityEventKind;
  count: bigint;
  first_at: Date;
  last_at: Date;
  account_id: AccountId | null;
  account_name: string | null;
  key_id: string | null;
  user_email: string | null;
  source_ip: string | null;
  upstream: string | null;
}

/** Security events in PostgreSQL. */
export class PostgresSecurity {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Maps those of the e-mail addresses that belong to users to their accounts; an operator has none. */
  async findUsers(emails: readonly string[]): Promise<ReadonlyMap<string, AccountId | null>> {
    const sql = this.#database;
    // Uses users_email_key.
    const rows = await sql<{ email: string; account_id: AccountId | null }[]>`
      select email, account_id from users
      where email in (select value from jsonb_array_elements_text(${sql.json([...emails])}))`;
    return new Map(rows.map((row) => [row.email, row.account_id]));
  }

  /** Adds the counts to those of existing groups. */
  async addEvents(groups: readonly EventGroup[]): Promise<void> {
    const rows = groups.map((group) => ({
      id: uuidv7(),
      hour: group.hour.toISOString(),
      kind: group.kind,
      account_id: group.accountId,
      key_id: group.keyId,
      user_email: group.email,
      source_ip: group.sourceIp,
      upstream: group.upstream,
      count: group.count,
      first_at: group.firstAt.toISOString(),
      last_at: group.lastAt.toISOString(),
    }));
    // Uses security_events_group, and locks its rows in order, so that batches of two nodes do not deadlock. Equal groups are
    // summed first, because one statement must not update a row twice.
    await inTransaction(
      this.#database,
      (sql) => sql`
        insert into security_events as event
          (hour, kind, account_id, key_id, user_email, source_ip, upstream, id, count, first_at, last_at)
        select hour, kind, account_id, key_id, user_email, source_ip, upstream,
               (array_agg(id))[1], sum(count), min(first_at), max(last_at)
        from jsonb_to_recordset(${sql.json(rows)}) as row (
          id uuid, hour timestamptz, kind text, account_id uuid, key_id text, user_email text, source_ip inet,
          upstream text, count bigint, first_at timestamptz, last_at timestamptz
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
  async listEvents(
    { kind, accountId, source }: SecurityFilter,
    after: SecurityCursor | null,
    limit: number,
  ): Promise<readonly ListedSecurityEvent[]> {
    const sql = this.#database.withTimeout(LONG_READ_TIMEOUT_MS);
    // Walks security_events_by_time, _by_kind or _by_account from the cursor. A source with few events
    // is searched in all of them: 0.3 s for a million.
    const rows = await sql<EventRow[]>`
      select event.id, event.kind, event.count, event.first_at, event.last_at, event.account_id,
             accounts.name as account_name, event.key_id, event.user_email, host(event.source_ip) as source_ip,
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
    return rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      count: Number(row.count),
      firstAt: row.first_at,
      lastAt: row.last_at,
      account: row.account_id === null ? null : { id: row.account_id, name: row.account_name ?? "" },
      keyId: row.key_id,
      userEmail: row.user_email,
      sourceIp: row.source_ip,
      upstream: row.upstream,
    }));
  }
}

/** Deletes events older than 90 days. Any node may run this at any time. */
export async function dropOldSecurityEvents(database: Database, now: Date): Promise<void> {
  const sql = database.withTimeout(BACKGROUND_TIMEOUT_MS);
  // Uses security_events_group.
  await sql`delete from security_events where hour < ${now}::timestamptz - interval '90 days'`;
}
