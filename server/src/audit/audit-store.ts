import type { Buffer } from "node:buffer";
import type { AccountId } from "../contract/account.ts";
import type { AuditEntry, EntryId } from "../contract/entry.ts";
import { type EntryRow, storedEntryOf } from "../contract/entry-columns.ts";
import { valuesOf } from "../contract/entry-values.ts";
import type { Uncollected } from "../credits/ledger.ts";
import { type Database, inTransaction, limitLockWaits, type Transaction } from "../database/database.ts";
import { refusesContent } from "../database/insert-all.ts";
import { type EntryDigest, entryDigestOf } from "./batch-content.ts";
import { isCharged } from "./batch-sums.ts";
import { countAndCharge, type NewEntries } from "./count-and-charge.ts";
import type { EntrySink, InsertOptions } from "./entry-sink.ts";
import { givenValue, INSERTED_COLUMNS, INSERTED_VALUES, RETURNED_COLUMNS } from "./entry-sql.ts";
import { lineOf, storedTextsOf } from "./stored-texts.ts";

/** How long an insert that skips locked accounts waits for other locks, such as those of sums of usage. */
const LOCK_TIMEOUT_MS = 100;

/** Writes audit entries to PostgreSQL, with the sums of usage and the charges that follow from them. */
export class PostgresAudit implements EntrySink {
  readonly #database: Database;
  readonly #nodeId: string;
  readonly #onUncollected: (uncollected: Uncollected) => void;

  /**
   * The service's usage is summed by `nodeId`. `onUncollected` is called for each amount that an account did not pay, once it is
   * committed.
   */
  constructor(
    database: Database,
    nodeId: string,
    onUncollected: (uncollected: Uncollected) => void = () => {},
  ) {
    this.#database = database;
    this.#nodeId = nodeId;
    this.#onUncollected = onUncollected;
  }

  async insertEntries(
    entries: readonly AuditEntry[],
    { mayExist = false, locked }: InsertOptions = {},
  ): Promise<readonly AuditEntry[]> {
    if (locked === "skip") return this.#recordUnlocked(entries);
    const lines = mayExist ? null : linesOf(entries);
    let uncollected: readonly Uncollected[];
    try {
      uncollected = await this.#record(entries, lines === null ? insertNewEntries : copyOf(lines));
    } catch (error) {
      if (!(error instanceof NotCopied)) throw error;
      uncollected = await this.#record(entries, insertNewEntries);
    }
    uncollected.forEach(this.#onUncollected);
    return [];
  }

  /** Records the entries of accounts that are not locked. @returns the others. */
  async #recordUnlocked(entries: readonly AuditEntry[]): Promise<readonly AuditEntry[]> {
    const { uncollected, left } = await inTransaction(this.#database, async (sql) => {
      await limitLockWaits(sql, LOCK_TIMEOUT_MS);
      const locked = await lockWithoutWaiting(sql, accountsOf(entries));
      const [free, left] = [
        entries.filter((entry) => !locked.has(entry.accountId)),
        entries.filter((entry) => locked.has(entry.accountId)),
      ];
      return { uncollected: await this.#recordIn(sql, free, insertNewEntries), left };
    });
    uncollected.forEach(this.#onUncollected);
    return left;
  }

  /** Records the entries that were not recorded before. */
  #record(entries: readonly AuditEntry[], insert: Insert): Promise<readonly Uncollected[]> {
    return inTransaction(this.#database, (sql) => this.#recordIn(sql, entries, insert));
  }

  async #recordIn(
    sql: Transaction,
    entries: readonly AuditEntry[],
    insert: Insert,
  ): Promise<readonly Uncollected[]> {
    // The accounts' chains are locked first, in order, and until the end: batches of an account are committed in the order
    // of their numbers, and the next statement sees what another attempt at this batch may have committed just now.
    const chains = await sql<Chain[]>`
      insert into audit_chains as chain (account_id)
      select value::uuid from jsonb_array_elements_text(${sql.json(accountsOf(entries))}) order by value::uuid
      on conflict (account_id) do update set batches = chain.batches
      returning account_id as "accountId", batches, removed_up_to as "removedUpTo"`;
    const charged = accountsOf(entries.filter(isCharged));
    if (charged.length > 0) {
      // Credit is moved under the accounts' locks, by a later statement: see PostgresCredit.
      await sql`
        select from accounts where id in (select value::uuid from jsonb_array_elements_text(${sql.json(charged)}))
        order by id for no key update`;
    }
    const added = await insert(sql, entries, chains);
    // A batch that is inserted again has no new entries, so that each entry is counted once.
    return added.entries.length === 0 ? [] : countAndCharge(sql, this.#nodeId, added);
  }
}

/**
 * Locks what {@link PostgresAudit} locks of accounts, as far as nothing else has locked it.
 *
 * @returns the accounts of which another transaction has locked something.
 */
async function lockWithoutWaiting(
  sql: Transaction,
  accounts: readonly AccountId[],
): Promise<ReadonlySet<AccountId>> {
  const rows = await sql<{ accountId: AccountId }[]>`
    with given as (
      select value as "accountId", value::uuid as id from jsonb_array_elements_text(${sql.json(accounts)})
    ),
    chain as (
      select account_id as id from audit_chains where account_id in (select id from given)
      order by account_id for update skip locked
    ),
    account as (
      select id from accounts where id in (select id from given) order by id for no key update skip locked
    )
    select "accountId" from given
    where (id not in (select id from chain) and id in (select account_id from audit_chains))
       or (id not in (select id from account) and id in (select id from accounts))`;
  return new Set(rows.map(({ accountId }) => accountId));
}

interface Chain {
  readonly accountId: AccountId;
  /** The number of its batches. */
  readonly batches: bigint;
  /** The last entry that was deleted at the end of the plan's retention. */
  readonly removedUpTo: EntryId | null;
}

/** Inserts entries as the next batches of their accounts' chains, and returns those that are new. */
type Insert = (
  sql: Transaction,
  entries: readonly AuditEntry[],
  chains: readonly Chain[],
) => Promise<NewEntries>;

interface CopiedEntry extends EntryDigest {
  readonly entry: AuditEntry;
  /** The entry as {@link lineOf} writes it. */
  readonly line: string;
}

/** @returns `null` if the database might store an entry in another form. */
function linesOf(entries: readonly AuditEntry[]): readonly CopiedEntry[] | null {
  const lines: CopiedEntry[] = [];
  for (const entry of entries) {
    const texts = storedTextsOf(entry);
    if (texts === null) return null;
    const { accountId, id } = entry;
    lines.push({ entry, accountId, id, line: lineOf(texts), digest: entryDigestOf(texts) });
  }
  return lines;
}

/**
 * Inserts entries that are all new, as nearly always: `copy` takes the database three fifths of the time of an insert.
 *
 * @throws {NotCopied} if not all are, or the database refuses one for its content.
 */
function copyOf(entries: readonly CopiedEntry[]): Insert {
  return async (sql, _, chains) => {
    const chainOf = new Map(chains.map((chain) => [chain.accountId, chain]));
    let lines = "";
    for (const { accountId, id, line } of entries) {
      const { batches, removedUpTo } = chainOf.get(accountId) as Chain;
      if (removedUpTo !== null && id <= removedUpTo) throw new NotCopied();
      lines += `${line}\t${batches + 1n}\n`;
    }
    try {
      await sql.copy(`audit_entries (${INSERTED_COLUMNS}, batch)`, lines);
    } catch (error) {
      if (refusesContent(error)) throw new NotCopied();
      throw error;
    }
    return { entries: entries.map(({ entry }) => entry), digests: entries };
  };
}

/** Inserts those of the entries that are neither recorded already nor belong to what was deleted at the end of the plan's retention. */
async function insertNewEntries(sql: Transaction, entries: readonly AuditEntry[]): Promise<NewEntries> {
  // One parameter for the whole batch: 50,000 rows a second where an insert for each row makes a few thousand.
  const values = sql.json(entries.map(valuesOf) as Parameters<typeof sql.json>[0]);
  const rows = await sql<(EntryRow & { readonly digest: Buffer })[]>`
    insert into audit_entries as entry (${sql.unsafe(INSERTED_COLUMNS)}, batch)
    select ${sql.unsafe(INSERTED_VALUES)}, chain.batches + 1
    from jsonb_array_elements(${values})
    join audit_chains chain on chain.account_id = ${sql.unsafe(givenValue("account_id"))}
    where chain.removed_up_to is null or ${sql.unsafe(givenValue("id"))} > chain.removed_up_to
    on conflict (id) do nothing
    returning ${sql.unsafe(RETURNED_COLUMNS)}, entry_digest(entry) as digest`;
  const given = new Map(entries.map((entry) => [digitsOf(entry.id), entry]));
  const added = rows.map((row) => {
    const stored = storedEntryOf(row);
    const entry = given.get(digitsOf(stored.id)) ?? stored;
    // What is charged is not stored, and the driver can't read all times that the database stores.
    return { ...entry, ...stored, at: entry.at, digest: row.digest.toString("binary") };
  });
  return { entries: added, digests: added };
}

/** The hexadecimal digits of an id. What is between them, and their case, may be written in several ways. */
function digitsOf(id: EntryId): string {
  return id.toLowerCase().replaceAll(/[^\da-f]/g, "");
}

/** Some of the entries have to be left out, or were refused: see {@link insertNewEntries}. */
class NotCopied extends Error {}

function accountsOf(entries: readonly AuditEntry[]): AccountId[] {
  return [...new Set(entries.map(({ accountId }) => accountId))];
}
