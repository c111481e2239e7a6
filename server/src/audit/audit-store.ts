import type { Buffer } from "node:buffer";
import type { AccountId } from "../contract/account.ts";
import type { AuditEntry, EntryId } from "../contract/entry.ts";
import type { Uncollected } from "../credits/ledger.ts";
import { type Database, inTransaction, type Transaction } from "../database/database.ts";
import { contentsOf, digestOf, type EntryDigest } from "./batch-content.ts";
import { answersOf, chargesOf, isCharged, usageOf } from "./batch-sums.ts";
import { type EntryRow, storedEntryOf } from "./entry-columns.ts";
import { givenValue, INSERTED_COLUMNS, INSERTED_VALUES, RETURNED_COLUMNS } from "./entry-sql.ts";
import { valuesOf } from "./entry-values.ts";
import { refusesContent } from "./insert-all.ts";
import type { EntrySink } from "./recorder.ts";
import { lineOf, storedTextsOf } from "./stored-texts.ts";

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

  async insertEntries(entries: readonly AuditEntry[], mayExist = false): Promise<void> {
    const lines = mayExist ? null : linesOf(entries);
    let uncollected: readonly Uncollected[];
    try {
      uncollected = await this.#record(entries, lines === null ? insertNewEntries : copyOf(lines));
    } catch (error) {
      if (!(error instanceof NotCopied)) throw error;
      uncollected = await this.#record(entries, insertNewEntries);
    }
    uncollected.forEach(this.#onUncollected);
  }

  /** Records the entries that were not recorded before. */
  #record(entries: readonly AuditEntry[], insert: Insert): Promise<readonly Uncollected[]> {
    // The accounts' chains are locked first, in order, and until the end: batches of an account are committed in the order
    // of their numbers, and the next statement sees what another attempt at this batch may have committed just now.
    return inTransaction(this.#database, async (sql) => {
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
      return added.entries.length === 0 ? [] : this.#countAndCharge(sql, added);
    });
  }

  /** Adds new entries to their chains, sums and charges. A batch that comes again has none, so that each is counted once. */
  async #countAndCharge(sql: Transaction, { entries, digests }: NewEntries): Promise<readonly Uncollected[]> {
    const json = (rows: readonly object[]) => sql.json(rows.map(withTexts));
    const sums = sql`
      sum(requests), sum(errors), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(cost_nano_usd)`;
    const summed = sql`
      requests = usage.requests + excluded.requests,
      errors = usage.errors + excluded.errors,
      prompt_tokens = usage.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = usage.completion_tokens + excluded.completion_tokens,
      cached_tokens = usage.cached_tokens + excluded.cached_tokens,
      cost_nano_usd = usage.cost_nano_usd + excluded.cost_nano_usd`;
    // Keys and other rows are changed in order, so that two nodes' batches wait for each other instead of locking each other out.
    return sql<Uncollected[]>`
      with added as (
        select "accountId" as account_id, entries, newest, decode(digest, 'hex') as digest
        from jsonb_to_recordset(${json(contentsOf(digests))})
          as content ("accountId" uuid, entries integer, newest uuid, digest text)
      ),
      batches as (
        insert into audit_batches (account_id, batch, entries, newest, digest)
        select account_id, chain.batches + 1, added.entries, added.newest,
               sha256(coalesce(chain.digest, '') || added.digest)
        from added join audit_chains chain using (account_id)
        returning account_id, batch, newest, digest
      ),
      chained as (
        update audit_chains set
          batches = batches.batch, digest = batches.digest, newest = greatest(audit_chains.newest, batches.newest)
        from batches where audit_chains.account_id = batches.account_id
      ),
      counts as materialized (
        select "accountId" as account_id, key, usage_model(model, "errorCode", upstream) as model, "sourceIp" as source_ip,
               timestamptz 'epoch' + "minuteMs" * interval '1 millisecond' as minute,
               timestamptz 'epoch' + "lastMs" * interval '1 millisecond' as last_at,
               requests, case when has_failed(status, "errorCode") then requests else 0 end as errors,
               "promptTokens" as prompt_tokens, "completionTokens" as completion_tokens, "cachedTokens" as cached_tokens,
               "costNanoUsd" as cost_nano_usd
        from jsonb_to_recordset(${json(usageOf(entries))}) as usage (
          "accountId" uuid, key uuid, model text, upstream text, status integer, "errorCode" text, "sourceIp" inet, "minuteMs" bigint,
          "lastMs" bigint, requests bigint, "promptTokens" bigint, "completionTokens" bigint, "cachedTokens" bigint,
          "costNanoUsd" bigint
        )
      ),
      used as (
        insert into key_usage (key, requests, last_used_at, last_used_ip)
        select key, sum(requests), max(last_at), (array_agg(source_ip order by last_at desc))[1]
        from counts group by key order by key
        on conflict (key) do update set
          requests = key_usage.requests + excluded.requests,
          last_used_at = greatest(key_usage.last_used_at, excluded.last_used_at),
          last_used_ip = case
            when excluded.last_used_at >= key_usage.last_used_at then excluded.last_used_ip
            else key_usage.last_used_ip
          end
      ),
      minutes as (
        insert into key_usage_minutes (key, minute, requests)
        select key, minute, sum(requests) from counts group by 1, 2 order by 1, 2
        on conflict (key, minute) do update set requests = key_usage_minutes.requests + excluded.requests
      ),
      addresses as (
        insert into key_addresses (key, source_ip, last_seen_at)
        select key, source_ip, max(last_at) from counts where source_ip is not null group by 1, 2 order by 1, 2
        on conflict (key, source_ip) do update
          set last_seen_at = greatest(key_addresses.last_seen_at, excluded.last_seen_at)
      ),
      hours as (
        insert into usage_hours as usage
        select account_id, date_trunc('hour', minute, 'UTC'), key, model, ${sums}
        from counts group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (account_id, hour, key, model) do update set ${summed}
      ),
      days as (
        insert into usage_days as usage
        select account_id, date_trunc('day', minute, 'UTC'), key, model, ${sums}
        from counts group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (account_id, day, key, model) do update set ${summed}
      ),
      service_hours as (
        insert into usage_service_hours as usage
        select date_trunc('hour', minute, 'UTC'), ${this.#nodeId}::uuid, model, ${sums}
        from counts group by 1, 3 order by 1, 3
        on conflict (hour, node_id, model) do update set ${summed}
      ),
      account_months as (
        insert into usage_account_months as usage
        select date_trunc('month', minute, 'UTC'), account_id, sum(requests), sum(cost_nano_usd)
        from counts group by 1, 2 order by 1, 2
        on conflict (month, account_id) do update set
          requests = usage.requests + excluded.requests, cost_nano_usd = usage.cost_nano_usd + excluded.cost_nano_usd
      ),
      -- The first attempt that is committed wins an idempotency key: its answer is kept, and it is charged. Another one is
      -- possible when the claim of the first had run out while its node was cut off.
      answered as (
        insert into idempotent_requests as known
          (account_id, key_digest, body_digest, claim, node_id, renewed_at, answered_at, is_stream, model, answer)
        select distinct on ("accountId", "idempotencyKeyDigest")
               "accountId", decode("idempotencyKeyDigest", 'base64'), decode("bodyDigest", 'base64'), claim,
               ${this.#nodeId}::uuid, now(), now(), "isStream", model, text
        from jsonb_to_recordset(${json(answersOf(entries))}) as answer (
          entry uuid, "accountId" uuid, claim uuid, "idempotencyKeyDigest" text, "bodyDigest" text, "isStream" boolean, model text, text text
        )
        order by "accountId", "idempotencyKeyDigest", entry
        on conflict (account_id, key_digest) do update set
          claim = excluded.claim, answered_at = excluded.answered_at, is_stream = excluded.is_stream,
          model = excluded.model, answer = excluded.answer
        where known.answered_at is null and known.body_digest = excluded.body_digest
        returning claim
      ),
      -- For each account and spender: the cost of the entries, its part for repeated answers, and what upstreams reported beyond what
      -- their models can do. Entries of former versions name no spender: theirs is the node's first.
      due as (
        select "accountId" as account_id,
               coalesce(spender, (select min(id) from credit_spenders where node_id = ${this.#nodeId}::uuid)) as spender,
               sum("costNanoUsd")::bigint as cost,
               coalesce(sum("costNanoUsd") filter (
                 where claim is not null and claim not in (select claim from answered)
               ), 0)::bigint as repeated,
               sum("implausibleNanoUsd")::bigint as implausible
        from jsonb_to_recordset(${json(chargesOf(entries))}) as charge (
          "accountId" uuid, spender bigint, claim uuid, "costNanoUsd" bigint, "implausibleNanoUsd" bigint
        )
        group by 1, 2
      ),
      -- A charge is paid from the spender's reserve first. What it uses of the reserve for repeated answers is free again: the node has
      -- settled their cost, and does not hold it any more. ...
      reserved as (
        select due.*, reserve.spender is null as is_closed, account.free_nano_usd as free,
               least(cost, coalesce(granted_nano_usd - charged_nano_usd, 0)) as used
        from due
        join accounts account on account.id = due.account_id
        left join credit_reserves reserve on reserve.account_id = due.account_id and reserve.spender = due.spender
      ),
      -- ... and then from the account's free credit, which spenders of one account take in the order of their ids.
      paid as (
        select *, greatest(0, least(short, free + sum(freed) over (partition by account_id) - (sum(short) over (partition by account_id order by spender nulls last) - short)))::bigint as from_free
        from (
          select *, cost - repeated - from_reserve as short, used - from_reserve as freed
          from (select *, least(cost - repeated, used) as from_reserve from reserved) with_parts
        ) with_short
      ),
      -- What did not come from the reserve is added to the grant and to the charges alike, so that it leaves the rest of the reserve,
      -- which is the grant less the charges, as it was.
      charged as (
        update credit_reserves reserve set
          charged_nano_usd = charged_nano_usd + paid.cost, granted_nano_usd = granted_nano_usd + paid.cost - paid.used
        from paid
        where reserve.account_id = paid.account_id and reserve.spender = paid.spender and paid.cost > 0
      ),
      debited as (
        update accounts set free_nano_usd = free_nano_usd - taken.amount
        from (
          select account_id, sum(from_free - freed)::bigint as amount from paid group by 1 having sum(from_free - freed) <> 0
        ) taken
        where accounts.id = taken.account_id
      ),
      uncollected as (
        select account_id, reason, sum(amount)::bigint as amount
        from paid, lateral (values
          (case when is_closed then 'released' else 'beyond_hold' end, short - from_free),
          ('repeated', repeated),
          ('implausible', implausible)
        ) part (reason, amount)
        where amount > 0 group by 1, 2
      ),
      ledger as (
        insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
        select ledger_entry_id(place), account_id, now(), kind, amount, reason
        from (
          select account_id, 'charge' as kind, -sum(cost + implausible)::bigint as amount, 'requests' as reason, 1 as place
          from paid group by account_id
          union all
          select account_id, 'uncollected', amount, reason, 2 from uncollected
          order by 1, 5
        ) movement
      )
      select account_id as "accountId", reason, amount as "amountNanoUsd" from uncollected`;
  }
}

interface Chain {
  readonly accountId: AccountId;
  /** The number of its batches. */
  readonly batches: bigint;
  /** The last entry that was deleted at the end of the plan's retention. */
  readonly removedUpTo: EntryId | null;
}

interface NewEntries {
  readonly entries: readonly AuditEntry[];
  readonly digests: readonly EntryDigest[];
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
    lines.push({ entry, accountId, id, line: lineOf(texts), digest: digestOf(texts) });
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

/** A row as JSON has it: numbers above 2^53 are texts. */
function withTexts(row: object): Record<string, string | number | boolean | null> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? value.toString() : value]),
  );
}

function accountsOf(entries: readonly AuditEntry[]): string[] {
  return [...new Set(entries.map(({ accountId }) => accountId))];
}
