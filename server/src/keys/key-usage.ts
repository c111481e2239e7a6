import { firstEntryIdAt } from "../contract/entry.ts";
import type { KeyUsage, KeyUuid, Rotation } from "../contract/key.ts";
import { BACKGROUND_TIMEOUT_MS, type Database } from "../database/database.ts";

/** The columns of a key's usage, as {@link usageColumns} names them. */
export interface UsageRow {
  last_used_at: Date | null;
  last_used_ip: string | null;
  addresses: bigint;
  last_minute: bigint;
  last_hour: bigint;
  last_day: bigint;
}

/**
 * The columns that {@link usageOf} reads. Each is a look-up by an index on the key, whatever the number of entries:
 * key_usage_pkey, key_addresses_pkey, key_usage_minutes_pkey, and audit_entries_by_key for the last 60 seconds, which whole
 * minutes do not cover exactly.
 */
export function usageColumns(sql: Database, now: Date) {
  return sql`
    key_usage.last_used_at, host(key_usage.last_used_ip) as last_used_ip,
    (select count(*) from key_addresses where key_addresses.key = keys.id) as addresses,
    (select count(*) from audit_entries
     where audit_entries.key = keys.id and audit_entries.id >= ${firstEntryIdAt(new Date(now.getTime() - 60_000))}::uuid) as last_minute,
    minutes.last_hour, minutes.last_day`;
}

/** The joins that {@link usageColumns} needs. */
export function usageJoins(sql: Database, now: Date) {
  return sql`
    left join key_usage on key_usage.key = keys.id
    left join lateral (
      select coalesce(sum(requests) filter (where minute >= ${now}::timestamptz - interval '61 minutes'), 0)::bigint as last_hour,
             coalesce(sum(requests), 0)::bigint as last_day
      from key_usage_minutes
      where key_usage_minutes.key = keys.id and minute >= ${now}::timestamptz - interval '1441 minutes'
    ) minutes on true`;
}

export function usageOf(row: UsageRow): KeyUsage {
  return {
    lastUsedAt: row.last_used_at,
    lastUsedIp: row.last_used_ip,
    addresses: Number(row.addresses),
    requestsLastMinute: Number(row.last_minute),
    requestsLastHour: Number(row.last_hour),
    requestsLastDay: Number(row.last_day),
  };
}

export interface SuccessorRow {
  successor: KeyUuid | null;
  successor_created_at: Date | null;
  quiet_after_s: number | null;
}

/** Returns how far the successor has taken over from a key. */
export function rotationOf(row: SuccessorRow, lastUsedAt: Date | null, now: Date): Rotation | null {
  const { successor, successor_created_at: createdAt, quiet_after_s: idleAfterSeconds } = row;
  if (successor === null || createdAt === null || idleAfterSeconds === null) return null;
  const idleSince = lastUsedAt !== null && lastUsedAt > createdAt ? lastUsedAt : createdAt;
  const isIdle = now.getTime() - idleSince.getTime() >= idleAfterSeconds * 1_000;
  return { successorId: successor, idleAfterSeconds, idleSince, isIdle };
}

/** Deletes usage older than any query covers. Any node may run this at any time. */
export async function dropOldUsage(database: Database, now: Date): Promise<void> {
  const sql = database.withTimeout(BACKGROUND_TIMEOUT_MS);
  // Locks rows in the order in which batches of entries do, and skips rows that a batch has locked, so neither waits.
  await sql`
    delete from key_usage_minutes where ctid in (
      select ctid from key_usage_minutes where minute < ${now}::timestamptz - interval '2 days'
      order by key, minute for update skip locked
    )`;
  await sql`
    delete from key_addresses where ctid in (
      select ctid from key_addresses where last_seen_at < ${now}::timestamptz - interval '30 days'
      order by key, source_ip for update skip locked
    )`;
}
