import { ActionChain } from "../accounts/action-chain.ts";
import { verifyWholeChain } from "../audit/audit-chain.ts";
import { Reconciler, type ReconciliationReport } from "../audit/reconciliation.ts";
import type { AccountId } from "../contract/account.ts";
import { type EntryId, timeOfEntry } from "../contract/entry.ts";
import { BACKGROUND_TIMEOUT_MS, type Database } from "../database/database.ts";
import { pendingMigrations } from "../database/migrate.ts";
import type { Findings } from "./findings.ts";

/** Accounts that are read at once. */
const PAGE = 1_000;

const NEXT_STEPS = [
  "The database is whole. Before clients use it: stop the nodes of the database that was backed up, start the nodes on their data folders, and revoke",
  "the keys again that were revoked after the backup. See docs/how-to/back-up-and-restore.md.",
];
const WHAT_TO_DO =
  "The database is not what the service recorded. Do not start the service on it: restore another backup, and keep this one for examination.";

/**
 * Checks a restored database without changing it: the schema, balances against ledgers, usage against audit entries, and all chains
 * of the audit log and the audit trail.
 *
 * @param migrations the folder of the SQL files.
 * @param hours how many hours of usage before the newest entry are compared with the entries.
 * @throws {Error} when the database was migrated by a newer version of the service.
 */
export async function backupCheck(given: Database, migrations: URL, hours: number): Promise<Findings> {
  const pending = await pendingMigrations(given, migrations);
  if (pending.length > 0) {
    const problem = `The schema is older than this version: ${pending.join(", ")} must be applied. Run "ostiary-server migrate", then check again.`;
    return { lines: [], problems: [problem] };
  }
  const database = given.withTimeout(BACKGROUND_TIMEOUT_MS);
  const checks = [await reconcile(database, hours), await checkLogs(database), await checkTrail(database)];
  const problems = checks.flatMap((check) => check.problems);
  const lines = ["schema       up to date", ...checks.flatMap((check) => check.lines)];
  return problems.length === 0
    ? { lines: [...lines, ...NEXT_STEPS], problems }
    : { lines, problems: [...problems, WHAT_TO_DO] };
}

async function reconcile(database: Database, hours: number): Promise<Findings> {
  const newest = await newestEntry(database);
  // Nothing runs: no request has a hold.
  const idle = { outstanding: () => ({ holds: 0, nanoUsd: 0n }) };
  const report = await new Reconciler(database, idle, () => newest ?? new Date()).check(hours);
  return {
    lines: [
      "balances     compared with the ledger",
      newest === null
        ? "usage        none is recorded"
        : `usage        compared from ${report.since.toISOString()} to the newest entry, of ${newest.toISOString()}`,
    ],
    problems: mismatchesOf(report),
  };
}

function mismatchesOf({ mismatches, usageMismatches }: ReconciliationReport): string[] {
  return [
    ...mismatches.map(({ accountId, balanceNanoUsd, ledgerNanoUsd }) =>
      balanceNanoUsd === ledgerNanoUsd && balanceNanoUsd >= 0n
        ? `account ${accountId}: the costs of a day are not the sum of its charges in the ledger`
        : `account ${accountId}: the balance is ${balanceNanoUsd} nano-USD, the ledger's sum ${ledgerNanoUsd}`,
    ),
    ...usageMismatches.map(
      ({ accountId, interval, start }) =>
        `${accountId === null ? "the service" : `account ${accountId}`}: the usage of the ${interval} ${start.toISOString()} is not the sum of its entries`,
    ),
  ];
}

async function newestEntry(database: Database): Promise<Date | null> {
  // The primary keys of the partitions begin with the time.
  const [row] = await database<{ id: EntryId }[]>`select id from audit_entries order by id desc limit 1`;
  return row === undefined ? null : timeOfEntry(row.id);
}

/** Verifies the audit log and the actions of every account. */
async function checkLogs(database: Database): Promise<Findings> {
  const problems: string[] = [];
  let accounts = 0;
  let entries = 0;
  for await (const accountId of allAccounts(database)) {
    const chain = await verifyWholeChain(database, accountId);
    accounts += 1;
    entries += chain.entries;
    problems.push(
      ...chain.problems.map(
        ({ batch, problem }) => `account ${accountId}: batch ${batch} of the audit log: ${problem}`,
      ),
      ...(await actionProblems(database, accountId)),
    );
  }
  return { lines: [`audit log    ${entries} entries of ${accounts} accounts verified`], problems };
}

async function checkTrail(database: Database): Promise<Findings> {
  return { lines: ["audit trail  verified"], problems: await actionProblems(database, null) };
}

/** What is wrong with the actions of an account; `null`: with the audit trail. */
async function actionProblems(database: Database, accountId: AccountId | null): Promise<string[]> {
  const chain = new ActionChain(database);
  const whose = accountId === null ? "the audit trail" : `account ${accountId}: its actions`;
  const found: string[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const report = await chain.verify(accountId, after, null);
    for (const { position, problem } of report.problems) {
      found.push(`${whose}: ${position === null ? "" : `position ${position}: `}${problem}`);
    }
    after = report.next;
  }
  return found;
}

async function* allAccounts(database: Database): AsyncGenerator<AccountId> {
  let last: AccountId | null = null;
  do {
    // Uses accounts_pkey.
    const rows: { id: AccountId }[] = await database<{ id: AccountId }[]>`
      select id from accounts where ${last}::uuid is null or id > ${last}::uuid order by id limit ${PAGE}`;
    for (const { id } of rows) yield id;
    last = rows.length < PAGE ? null : (rows.at(-1)?.id ?? null);
  } while (last !== null);
}
