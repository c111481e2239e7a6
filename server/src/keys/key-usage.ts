import { firstEntryIdAt } from "../contract/entry.ts";
import type { KeyUuid, Rotation } from "../contract/key.ts";
import type { Database } from "../database/database.ts";
import { deleteInBatches } from "../database/delete-in-batches.ts";

/**
 * The columns of a {@link KeyUsage}. Each is a look-up by an index on the key, whatever the number of entries:
 * key_usage_pkey, key_addresses_pkey, key_usage_minutes_pkey, and audit_entries_by_key for the last 60 seconds, which whole
 * minutes do not cover exactly.
 */
export function usageColumns(sql: Database, now: Date) {
  return sql`
    key_usage.last_used_at as "lastUsedAt", host(key_usage.last_used_ip) as "lastUsedIp",
    (select count(*)::float8 from key_addresses
     where key_addresses.key = keys.id and last_seen_at >= ${now}::timestamptz - interval '30 days') as addresses,
    (select count(*)::float8 from audit_entries
     where audit_entries.key = keys.id and audit_entries.id >= ${firstEntryIdAt(new Date(now.getTime() - 60_000))}::uuid)
      as "requestsLastMinute",
    minutes.last_hour as "requestsLastHour", minutes.last_day as "requestsLastDay"`;
}

/** The joins that {@link usageColumns} needs. */
export function usageJoins(sql: Database, now: Date) {
  return sql`
    left join key_usage on key_usage.key = keys.id
    left join lateral (
      select coalesce(sum(requests) filter (where minute >= ${now}::timestamptz - interval '61 minutes'), 0)::float8 as last_hour,
             coalesce(sum(requests), 0)::float8 as last_day
      from key_usage_minutes
      where key_usage_minutes.key = keys.id and minute >= ${now}::timestamptz - interval '1441 minutes'
    ) minutes on true`;
}

export interface SuccessorRow {
  readonly successorId: KeyUuid | null;
  readonly successorCreatedAt: Date | null;
  readonly idleAfterSeconds: number | null;
}

/** Returns how far the successor has taken over from a key. */
export function rotationOf(
  { successorId, successorCreatedAt, idleAfterSeconds }: SuccessorRow,
  lastUsedAt: Date | null,
  now: Date,
): Rotation | null {
  if (successorId === null || successorCreatedAt === null || idleAfterSeconds === null) return null;
  const idleSince = lastUsedAt !== null && lastUsedAt > successorCreatedAt ? lastUsedAt : successorCreatedAt;
  const isIdle = now.getTime() - idleSince.getTime() >= idleAfterSeconds * 1_000;
  return { successorId, idleAfterSeconds, idleSince, isIdle };
}

/**
 * Deletes usage older than any query covers, in batches: a batch of entries from an address that is being deleted waits for one of them at
 * most. Any node may run this at any time.
 */
export async function dropOldUsage(database: Database, now: Date): Promise<void> {
  await deleteInBatches(database, {
    from: "key_usage_minutes",
    where: database`minute < ${now}::timestamptz - interval '2 days'`,
  });
  await deleteInBatches(database, {
    from: "key_addresses",
    where: database`last_seen_at < ${now}::timestamptz - interval '30 days'`,
  });
}
