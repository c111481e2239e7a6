import type { AccountId } from "../contract/account.ts";
import type { EntryId, ListedEntry } from "../contract/entry.ts";
import { type EntryRow, storedEntryOf } from "../contract/entry-columns.ts";
import { type Database, LONG_READ_TIMEOUT_MS, type SqlFragment } from "../database/database.ts";
import type { StreamedRead } from "../database/reads.ts";
import type { AsOf, ExportPosition } from "./cursor.ts";
import { CSV_VALUES, jsonFields, SELECTED_COLUMNS } from "./entry-sql.ts";
import type { ExportedLines, ExportPlan } from "./export-plan.ts";
import { ProvedExport } from "./export-proof.ts";
import type { EntryFilter } from "./filter.ts";
import { fromNewest, inPeriod, isPart, isSearch, type LogScope, matching } from "./filter-sql.ts";
import type { FoundEntries, LogSearch } from "./log-search.ts";
import { REMOVED_COLUMNS, type Removed, type RemovedRow, readRemoved, removedOf } from "./removed-entries.ts";

/** New entries are counted up to this number. */
const MAX_COUNTED = 10_000;
/** Entries that one statement searches, so that it ends soon even if few match. */
const MAX_SEARCHED = 50_000;

/** Reads audit entries from PostgreSQL. It is no {@link Reader} of `database/reads.ts`, which names the budget that reads use. */
export class PostgresAuditReader {
  readonly #database: Database;
  /** For statements that may read many of an account's entries. */
  readonly #longReads: Database;

  constructor(database: Database) {
    this.#database = database;
    this.#longReads = database.withTimeout(LONG_READ_TIMEOUT_MS);
  }

  /** The present moment: what has been recorded of the account by now. The log of all accounts has no snapshots. */
  async asOf(scope: LogScope): Promise<AsOf> {
    if (scope === null) return 0n as AsOf;
    return (await this.heads([scope])).get(scope) ?? (0n as AsOf);
  }

  /** @returns `null` if the account, or with a scope of `null` the service, has no such entry. */
  async findEntry(scope: LogScope, id: EntryId): Promise<ListedEntry | null> {
    const sql = this.#database;
    // Uses audit_entries_pkey, of the one partition that the id is in.
    const [row] = await sql<EntryRow[]>`
      select ${sql.unsafe(SELECTED_COLUMNS)}
      from audit_entries entries
      left join keys on keys.id = entries.key
      where entries.id = ${id} ${scope === null ? sql`` : sql`and entries.account_id = ${scope}`}`;
    return row === undefined ? null : entryOf(row);
  }

  /** The names of accounts, by their ids. */
  async accountNames(ids: readonly AccountId[]): Promise<ReadonlyMap<AccountId, string>> {
    const sql = this.#database;
    const rows = await sql<{ id: AccountId; name: string }[]>`
      select id, name from accounts
      where id in (select value::uuid from jsonb_array_elements_text(${sql.json([...ids])}))`;
    return new Map(rows.map(({ id, name }) => [id, name]));
  }

  /** Lists entries before one, newest first: those that match among the next {@link MAX_SEARCHED}. */
  async listEntries(
    { scope, filter, asOf }: LogSearch,
    before: EntryId | null,
    limit: number,
  ): Promise<FoundEntries> {
    const sql = this.#longReads;
    const start = before === null ? fromNewest(sql, scope) : sql`entries.id < ${before}`;
    const edge = isSearch(filter)
      ? await this.#edge(sql`${inPeriod(sql, scope, filter)} and ${start} order by entries.id desc`)
      : null;
    // Walks the index of `inPeriod` from the cursor: page 10,000 costs what page 1 costs.
    const rows = await sql<EntryRow[]>`
      select ${sql.unsafe(SELECTED_COLUMNS)}
      from audit_entries entries
      left join keys on keys.id = entries.key
      where ${matching(sql, scope, filter, asOf)} and ${start}
        ${edge === null ? sql`` : sql`and entries.id >= ${edge}`}
      order by entries.id desc
      limit ${limit}`;
    return { entries: rows.map(entryOf), searchedTo: edge };
  }

  /** The last entry that one statement searches; `null` if it reaches the end. */
  async #edge(inOrder: SqlFragment): Promise<EntryId | null> {
    const [row] = await this.#longReads<{ id: EntryId }[]>`
      select id from audit_entries entries where ${inOrder} offset ${MAX_SEARCHED - 1} limit 1`;
    return row?.id ?? null;
  }

  /** The last batch of each account that has one. */
  async heads(accountIds: readonly AccountId[]): Promise<ReadonlyMap<AccountId, AsOf>> {
    const sql = this.#database;
    const rows = await sql<{ account_id: AccountId; batches: AsOf }[]>`
      select account_id, batches from audit_chains
      where account_id in (select value::uuid from jsonb_array_elements_text(${sql.json([...accountIds])}))`;
    return new Map(rows.map((row) => [row.account_id, row.batches]));
  }

  /** Lists the newest matching entries of the batches after one up to another, in the order of their recording. */
  async listRecorded(
    accountId: AccountId,
    filter: EntryFilter,
    { after, upTo }: { readonly after: AsOf; readonly upTo: AsOf },
    limit: number,
  ): Promise<{ readonly entries: readonly ListedEntry[]; readonly skipped: number }> {
    const sql = this.#database;
    // Uses audit_entries_by_batch.
    const rows = await sql<(EntryRow & { total: bigint })[]>`
      with found as (
        select * from audit_entries entries
        where ${matching(sql, accountId, filter, upTo)} and entries.batch > ${after}
        order by entries.batch desc limit ${MAX_COUNTED}
      )
      select ${sql.unsafe(SELECTED_COLUMNS)}, (select count(*) from found) as total
      from found entries
      left join keys on keys.id = entries.key
      order by entries.batch desc, entries.id desc
      limit ${limit}`;
    const total = Number(rows[0]?.total ?? 0n);
    return { entries: rows.map(entryOf).reverse(), skipped: total - rows.length };
  }

  /**
   * Writes lines of the account's entries after one, oldest first, each with the cursor that continues after it: `cursorStart` and
   * the entry's id.
   */
  async exportEntries(
    { accountId, format, filter, asOf, cursorStart }: ExportPlan,
    after: EntryId | null,
    limit: number,
  ): Promise<ExportedLines> {
    const sql = this.#longReads;
    const start = after === null ? sql`` : sql`and entries.id > ${after}`;
    const edge = isSearch(filter)
      ? await this.#edge(sql`${inPeriod(sql, accountId, filter)} ${start} order by entries.id`)
      : null;
    // The database formats the lines, so that a batch is one value and no entry becomes an object here.
    const isCsv = format === "csv";
    const cursor = sql`${cursorStart}::text || entries.id`;
    const fields = isCsv
      ? sql`concat_ws(',', ${sql.unsafe(CSV_VALUES)}, csv_field(${cursor})) as line`
      : sql`${sql.unsafe(jsonFields(isPart(filter)))}, ${cursor} as cursor`;
    const [row] = await sql<({ text: string | null; count: bigint; last: EntryId | null } & RemovedRow)[]>`
      with batch as (
        select entries.id, ${fields}
        from audit_entries entries
        left join keys on keys.id = entries.key
        ${isCsv ? sql`` : sql`join audit_batches batch on batch.account_id = entries.account_id and batch.batch = entries.batch`}
        where ${matching(sql, accountId, filter, asOf)}
          ${start}
          ${edge === null ? sql`` : sql`and entries.id <= ${edge}`}
        order by entries.id
        limit ${limit}
      )
      select lines.*, ${sql.unsafe(REMOVED_COLUMNS)}
      from (
        select string_agg(${isCsv ? sql`line` : sql`row_to_json(batch)::text`} || chr(10), '' order by id) as text, count(*) as count,
               (select id from batch order by id desc limit 1) as last
        from batch
      ) lines
      left join audit_chains chain on chain.account_id = ${accountId}`;
    const { text = null, count = 0n, last = null } = row ?? {};
    return { text: text ?? "", count: Number(count), last, searchedTo: edge, removed: removedOf(row) };
  }

  /** What retention has deleted of the account's log by now. */
  removed(accountId: AccountId): Promise<Removed> {
    return readRemoved(this.#database, accountId);
  }

  /** The lines of an export with its proof, each with a newline. */
  provedLines(
    run: StreamedRead["run"],
    plan: ExportPlan,
    start: ExportPosition | null,
  ): AsyncGenerator<string> {
    return new ProvedExport(this.#longReads, run, plan, start).lines();
  }
}

function entryOf(row: EntryRow): ListedEntry {
  return { ...storedEntryOf(row), keyName: row.key_name as string };
}
