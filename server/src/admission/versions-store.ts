import type { AccountId } from "../contract/account.ts";
import type { Database, Transaction } from "../database/database.ts";
import type { UnpublishedVersions } from "./publisher.ts";

/**
 * Raises an account's version and records it as unpublished. This locks the account's row, so that changes of one account are
 * made one after the other.
 */
export async function raiseVersion(transaction: Transaction, accountId: AccountId): Promise<bigint> {
  const [row] = await transaction<{ version: bigint }[]>`
    update accounts set version = version + 1 where id = ${accountId} returning version`;
  if (row === undefined) throw new Error("the account does not exist");
  await transaction`
    insert into unpublished_versions (account_id, version) values (${accountId}, ${row.version})
    on conflict (account_id) do update set version = excluded.version`;
  return row.version;
}

/** Unpublished versions in PostgreSQL. */
export function unpublishedVersionsIn(database: Database): UnpublishedVersions {
  return {
    async list(limit: number) {
      return database<{ accountId: AccountId; version: bigint }[]>`
        select account_id as "accountId", version from unpublished_versions limit ${limit}`;
    },
    async isPending(accountId: AccountId, version: bigint): Promise<boolean> {
      const rows = await database`
        select from unpublished_versions where account_id = ${accountId} and version >= ${version}`;
      return rows.length > 0;
    },
    async clear(accountId: AccountId, version: bigint): Promise<void> {
      await database`
        delete from unpublished_versions where account_id = ${accountId} and version <= ${version}`;
    },
  };
}
