import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";
import type { AccountId, Plan } from "../contract/account.ts";
import { type EntryId, firstEntryIdAt } from "../contract/entry.ts";
import type { Plans } from "../contract/plans.ts";
import { BACKGROUND_TIMEOUT_MS, type Database, inTransaction, isLockTimeout } from "../database/database.ts";
import { lockEntries, monthOf, readPartitions } from "./audit-partitions.ts";

const ACCOUNTS_AT_ONCE = 100;
const ENTRIES_AT_ONCE = 20_000;
const BATCHES_AT_ONCE = 2_000;
const PARTITION_OF_MONTH = /^audit_entries_\d{4}_\d{2}$/;
/** Younger partitions may still get entries, because journals may be replayed late. */
const PARTITION_MONTHS = 2;

/**
 * Deletes entries at the end of their plan's retention: whole batches from the beginning of the chain, so that the rest can
 * still be verified. Sums of usage stay. Call it about every hour.
 *
 * @param now the time of the database, if the node's clock agrees with it.
 */
export async function dropOldEntries(pool: Database, plans: Plans, now: Date): Promise<void> {
  const database = pool.withTimeout(BACKGROUND_TIMEOUT_MS);
  for (const [plan, { auditRetentionDays }] of Object.entries(plans) as [Plan, Plans[Plan]][]) {
    if (auditRetentionDays === null) continue;
    const oldest = firstEntryIdAt(new Date(now.getTime() - auditRetentionDays * DAY_MS));
    for (;;) {
      const accounts = await accountsWithOlder(database, plan, oldest);
      for (const accountId of accounts) await dropBatches(database, accountId, oldest);
      if (accounts.length === 0) break;
    }
  }
  await dropEmptyPartitions(database, now);
}

/** For how many past hours every account has its entries: older usage cannot be compared with them. */
export function keptHours(plans: Plans): number {
  const days = Object.values(plans).map(
    ({ auditRetentionDays }) => auditRetentionDays ?? Number.POSITIVE_INFINITY,
  );
  return Math.min(...days) * 24 - 1;
}

async function accountsWithOlder(
  database: Database,
  plan: Plan,
  oldest: EntryId,
): Promise<readonly AccountId[]> {
  const rows = await database<{ account_id: AccountId }[]>`
    select chain.account_id
    from audit_chains chain
    join accounts on accounts.id = chain.account_id and accounts.plan = ${plan}
    join audit_batches batch on batch.account_id = chain.account_id and batch.batch = chain.removed_batches + 1
    where batch.newest < ${oldest}
    limit ${ACCOUNTS_AT_ONCE}`;
  return rows.map((row) => row.account_id);
}

/**
 * Deletes the first batches of a chain. The chain itself is locked last, because the entries of many accounts are recorded together, and all of them
 * wait for a chain that is locked: old entries may have to be read from the disk to be deleted. The first batch keeps other nodes from deleting
 * beside this one. After a wait for it there is none if they have deleted it.
 */
async function dropBatches(database: Database, accountId: AccountId, oldest: EntryId): Promise<void> {
  await inTransaction(database, async (sql) => {
    const [chain] = await sql<{ removed: bigint }[]>`
      select removed_batches as removed
      from audit_chains chain
      join audit_batches batch on batch.account_id = chain.account_id and batch.batch = chain.removed_batches + 1
      where chain.account_id = ${accountId} for update of batch`;
    if (chain === undefined) return;
    const [last] = await sql<{ batch: bigint; digest: Uint8Array; newest: EntryId }[]>`
      with next as (
        select batch, newest, digest, sum(entries) over (order by batch) as total
        from (
          select * from audit_batches
          where account_id = ${accountId} and batch > ${chain.removed}
          order by batch limit ${BATCHES_AT_ONCE}
        ) batches
      )
      select batch, digest,
             (select newest from next older where older.batch <= next.batch order by newest desc limit 1) as newest
      from next
      where batch < coalesce((select min(batch) from next where newest >= ${oldest}), batch + 1)
        and (total <= ${ENTRIES_AT_ONCE} or batch = ${chain.removed + 1n})
      order by batch desc limit 1`;
    if (last === undefined) return;
    await sql`
      delete from audit_entries
      where account_id = ${accountId} and batch > ${chain.removed} and batch <= ${last.batch}`;
    await sql`
      delete from audit_batches
      where account_id = ${accountId} and batch > ${chain.removed} and batch <= ${last.batch}`;
    await sql`
      update audit_chains set
        removed_batches = ${last.batch}, removed_digest = ${last.digest},
        removed_up_to = greatest(removed_up_to, ${last.newest})
      where account_id = ${accountId}`;
  });
}

/** Drops the partitions of months that have no entries left. */
async function dropEmptyPartitions(database: Database, now: Date): Promise<void> {
  const { name: before } = monthOf(now, -PARTITION_MONTHS);
  for (const name of await readPartitions(database)) {
    if (!PARTITION_OF_MONTH.test(name) || name >= before) continue;
    const [row] = await database`select from ${database(name)} limit 1`;
    if (row === undefined) await dropIfEmpty(database, name);
  }
}

async function dropIfEmpty(database: Database, name: string): Promise<void> {
  try {
    await inTransaction(database, async (sql) => {
      await lockEntries(sql);
      const [late] = await sql`select from ${sql(name)} limit 1`;
      if (late === undefined) await sql`drop table ${sql(name)}`;
    });
  } catch (error) {
    // A long read is running. The next call tries again.
    if (!isLockTimeout(error)) throw error;
  }
}
