import type { AccountId } from "../contract/account.ts";
import type { AuditEntry } from "../contract/entry.ts";
import type { Uncollected } from "../credits/ledger.ts";
import { type Database, inTransaction, type SqlFragment, type Transaction } from "../database/database.ts";
import { type BatchContent, batchContentsOf } from "./batch-content.ts";
import {
  IMPLAUSIBLE,
  INPUT_COLUMNS,
  INSERTED_COLUMNS,
  INSERTED_VALUES,
  KEYED,
  SPENDER,
} from "./entry-sql.ts";
import { valuesOf } from "./entry-values.ts";
import type { EntrySink } from "./recorder.ts";

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

  async insertEntries(entries: readonly AuditEntry[]): Promise<void> {
    let uncollected: readonly Uncollected[];
    try {
      uncollected = await this.#record(entries, batchContentsOf(entries));
    } catch (error) {
      if (!(error instanceof RecordedBefore)) throw error;
      uncollected = await this.#record(entries, null);
    }
    uncollected.forEach(this.#onUncollected);
  }

  /**
   * Records the entries that were not recorded before.
   *
   * @param contents what they add to their chains if all of them are new; `null`: any of them may be recorded already.
   * @throws {RecordedBefore} if there are contents, but not all entries are new. Nothing is recorded then.
   */
  #record(
    entries: readonly AuditEntry[],
    contents: readonly BatchContent[] | null,
  ): Promise<readonly Uncollected[]> {
    // One parameter for the whole batch: 50,000 rows a second where an insert for each row makes a few thousand.
    // The accounts' chains are locked first, in order, and until the end: batches of an account are committed in the order
    // of their numbers, and the next statement sees what another attempt at this batch may have committed just now.
    // What keys are used for is counted from entries that were inserted, so a replayed batch counts once; keys in
    // order, so that two nodes' batches wait for each other instead of locking each other out.
    return inTransaction(this.#database, async (sql) => {
      await sql`
        insert into audit_chains as chain (account_id)
        select value::uuid from jsonb_array_elements_text(${sql.json(accountsOf(entries))}) order by value::uuid
        on conflict (account_id) do update set batches = chain.batches`;
      const charged = accountsOf(entries.filter(isCharged));
      if (charged.length > 0) {
        // Credit is moved under the accounts' locks, by a later statement: see PostgresCredit.
        await sql`
          select from accounts where id in (select value::uuid from jsonb_array_elements_text(${sql.json(charged)}))
          order by id for no key update`;
      }
      return this.#insert(sql, entries, contents);
    });
  }

  async #insert(
    sql: Transaction,
    entries: readonly AuditEntry[],
    contents: readonly BatchContent[] | null,
  ): Promise<readonly Uncollected[]> {
    const rows = entries.map(valuesOf);
    const sums = sql`
      sum(requests), sum(errors), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(cost_nano_usd)`;
    const summed = sql`
      requests = usage.requests + excluded.requests,
      errors = usage.errors + excluded.errors,
      prompt_tokens = usage.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = usage.completion_tokens + excluded.completion_tokens,
      cached_tokens = usage.cached_tokens + excluded.cached_tokens,
      cost_nano_usd = usage.cost_nano_usd + excluded.cost_nano_usd`;
    const { returned, recorded, added } =
      contents === null ? ofInsertedRows(sql) : ofWholeBatch(sql, contents);
    const outcome = await sql<
      { inserted: number; account_id: AccountId; reason: Uncollected["reason"] | null; amount: bigint }[]
    >`
      with input as materialized (
        -- Entries of former versions name no spender: theirs is the node's first.
        select
          ${sql.unsafe(INPUT_COLUMNS)},
          case when jsonb_typeof(${sql.unsafe(KEYED)}) = 'array' then ${sql.unsafe(KEYED)} end as keyed,
          coalesce(${sql.unsafe(SPENDER)}, (select min(id) from credit_spenders where node_id = ${this.#nodeId}::uuid)) as spender,
          coalesce(${sql.unsafe(IMPLAUSIBLE)}, 0) as implausible
        from jsonb_array_elements(${sql.json(rows as Parameters<typeof sql.json>[0])})
      ),
      inserted as (
        insert into audit_entries as entry (${sql.unsafe(INSERTED_COLUMNS)}, batch)
        select ${sql.unsafe(INSERTED_VALUES)}, chain.batches + 1
        from input row
        join audit_chains chain on chain.account_id = row.account_id
        where chain.removed_up_to is null or row.id > chain.removed_up_to
        on conflict (id) do nothing
        returning ${returned}
      ),
      recorded as ${recorded},
      added as (${added}),
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
      -- Entries that differ in none of these are counted once, and all sums follow from the few rows that are left.
      counts as materialized (
        select account_id, key, usage_model(model, error_code, upstream) as model, source_ip,
               date_trunc('minute', at) as minute, max(at) as last_at, count(*) as requests,
               count(*) filter (where has_failed(status, error_code)) as errors,
               coalesce(sum(prompt_tokens), 0) as prompt_tokens, coalesce(sum(completion_tokens), 0) as completion_tokens,
               coalesce(sum(cached_tokens), 0) as cached_tokens, sum(cost_nano_usd) as cost_nano_usd
        from recorded group by 1, 2, 3, 4, 5
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
        select distinct on (account_id, keyed->>1)
               account_id, decode(keyed->>1, 'base64'), decode(keyed->>2, 'base64'), (keyed->>0)::uuid,
               ${this.#nodeId}::uuid, now(), now(), (keyed->>3)::boolean, keyed->>4, keyed->>5
        from recorded where keyed is not null
        order by account_id, keyed->>1, id
        on conflict (account_id, key_digest) do update set
          claim = excluded.claim, answered_at = excluded.answered_at, is_stream = excluded.is_stream,
          model = excluded.model, answer = excluded.answer
        where known.answered_at is null and known.body_digest = excluded.body_digest
        returning claim
      ),
      -- What each spender owes for each account, of it for repeated answers, and what upstreams reported beyond all reason.
      due as (
        select account_id, spender, sum(cost_nano_usd)::bigint as cost,
               coalesce(sum(cost_nano_usd) filter (
                 where keyed is not null and (keyed->>0)::uuid not in (select claim from answered)
               ), 0)::bigint as repeated,
               sum(implausible)::bigint as implausible
        from recorded
        where cost_nano_usd > 0 or implausible > 0
        group by 1, 2
      ),
      -- A charge takes the spender's reserve first, and then what is free: ...
      reserved as (
        select due.*, reserve.spender is null as is_closed, account.free_nano_usd as free,
               least(cost - repeated, coalesce(granted_nano_usd - charged_nano_usd, 0)) as from_reserve
        from due
        join accounts account on account.id = due.account_id
        left join credit_reserves reserve on reserve.account_id = due.account_id and reserve.spender = due.spender
      ),
      -- ... of two spenders of an account in the order of their ids.
      paid as (
        select *, greatest(0, least(short, free - (sum(short) over (partition by account_id order by spender nulls last) - short)))::bigint as from_free
        from (select *, cost - repeated - from_reserve as short from reserved) with_short
      ),
      -- As if what did not come from the reserve had been granted for this: what is set aside stays what it was.
      charged as (
        update credit_reserves reserve set
          charged_nano_usd = charged_nano_usd + paid.cost, granted_nano_usd = granted_nano_usd + paid.cost - paid.from_reserve
        from paid
        where reserve.account_id = paid.account_id and reserve.spender = paid.spender and paid.cost > 0
      ),
      debited as (
        update accounts set free_nano_usd = free_nano_usd - taken.amount
        from (select account_id, sum(from_free)::bigint as amount from paid group by 1 having sum(from_free) > 0) taken
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
      select (select count(*)::integer from inserted) as inserted, account_id, reason, amount
      from (values (1)) as always left join uncollected on true`;
    if (contents !== null && outcome[0]?.inserted !== entries.length) throw new RecordedBefore();
    return outcome.flatMap(({ account_id: accountId, amount: amountNanoUsd, reason }) =>
      reason === null ? [] : [{ accountId, reason, amountNanoUsd }],
    );
  }
}

/** The parts of the statement that depend on which of a batch's entries are new. */
interface NewEntries {
  /** What the insert returns of each row. */
  readonly returned: SqlFragment;
  /** The entries that were inserted, with what the input has of each. */
  readonly recorded: SqlFragment;
  /** What they add to the chain of each account. */
  readonly added: SqlFragment;
}

/** Any entry may be recorded already, or be in the batch twice: the rows that were inserted decide. */
function ofInsertedRows(sql: Transaction): NewEntries {
  return {
    returned: sql`id, entry_digest(entry) as digest`,
    recorded: sql`materialized (select distinct on (id) * from input join inserted using (id))`,
    added: sql`
        select account_id, count(*) as entries, (array_agg(id order by id))[count(*)] as newest,
               sha256(string_agg(digest, ''::bytea order by id)) as digest
        from recorded group by account_id`,
  };
}

/** All entries are new, as nearly always: then the input has all that is needed, which takes a fifth less of the database's time. */
function ofWholeBatch(sql: Transaction, contents: readonly BatchContent[]): NewEntries {
  return {
    returned: sql`id`,
    recorded: sql`not materialized (select * from input)`,
    added: sql`
        select "accountId" as account_id, entries, newest, decode(digest, 'hex') as digest
        from jsonb_to_recordset(${sql.json(contents.map((content) => ({ ...content })))})
          as content ("accountId" uuid, entries integer, newest uuid, digest text)`,
  };
}

/** Some entries of a batch are in the database already, or belong to what was deleted at the end of the plan's retention. */
class RecordedBefore extends Error {}

function isCharged({ costNanoUsd, implausibleNanoUsd = 0n }: AuditEntry): boolean {
  return costNanoUsd > 0n || implausibleNanoUsd > 0n;
}

function accountsOf(entries: readonly AuditEntry[]): string[] {
  return [...new Set(entries.map(({ accountId }) => accountId))];
}
