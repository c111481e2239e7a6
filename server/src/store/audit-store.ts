import { v7 as uuidv7 } from "uuid";
import { type AuditEntry, valuesOf } from "../audit/entry.ts";
import type { EntrySink } from "../audit/recorder.ts";
import { type Database, inTransaction, type Transaction } from "./database.ts";

/** Audit entries as they are written to Postgres, with all that is counted of them. */
export class PostgresAudit implements EntrySink {
  readonly #database: Database;
  readonly #nodeId: string;

  /** `nodeId`: whose credit reservations the charges are taken from, and whose part of the service's usage this is. */
  constructor(database: Database, nodeId: string) {
    this.#database = database;
    this.#nodeId = nodeId;
  }

  async insertEntries(entries: readonly AuditEntry[]): Promise<void> {
    // One parameter for the whole batch: 50,000 rows a second where an insert for each row makes a few thousand.
    // The accounts' chains are locked first, in order, and until the end: batches of an account are committed in the order
    // of their numbers, and the next statement sees what another attempt at this batch may have committed just now.
    // What keys are used for is counted from the rows that were inserted, so a replayed batch counts once; keys in
    // order, so that two nodes' batches wait for each other instead of locking each other out.
    await inTransaction(this.#database, async (sql) => {
      await sql`
        insert into audit_chains as chain (account_id)
        select account_id from jsonb_to_recordset(${sql.json(accountsOf(entries))}) as row (account_id uuid)
        order by account_id
        on conflict (account_id) do update set batches = chain.batches`;
      await this.#insert(sql, entries);
    });
  }

  async #insert(sql: Transaction, entries: readonly AuditEntry[]): Promise<void> {
    const rows = entries.map(valuesOf);
    const sums = sql`
      count(*), count(*) filter (where status >= 400), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens),
      sum(cost_nano_usd)`;
    const added = sql`
      requests = usage.requests + excluded.requests,
      errors = usage.errors + excluded.errors,
      prompt_tokens = usage.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = usage.completion_tokens + excluded.completion_tokens,
      cached_tokens = usage.cached_tokens + excluded.cached_tokens,
      cost_nano_usd = usage.cost_nano_usd + excluded.cost_nano_usd`;
    await sql`
      with inserted as (
        insert into audit_entries as entry (
          id, account_id, key, key_id, at, endpoint, model, upstream, status, error_code, end_reason, usage_source,
          prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, latency_ms, time_to_first_token_ms, source_ip,
          would_refuse, batch
        )
        select
          id, row.account_id, key, key_id, at, endpoint, model, upstream, status, error_code, end_reason, usage_source,
          prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, latency_ms, time_to_first_token_ms, source_ip,
          would_refuse, chain.batches + 1
        from (
          -- The places are those of valuesOf.
          select
            (value->>0)::uuid as id, (value->>1)::uuid as account_id, (value->>2)::uuid as key, value->>3 as key_id,
            timestamptz 'epoch' + (value->>4)::bigint * interval '1 millisecond' as at, value->>5 as endpoint, value->>6 as model, value->>7 as upstream,
            (value->>8)::integer as status, value->>9 as error_code, value->>10 as end_reason,
            value->>11 as usage_source, (value->>12)::bigint as prompt_tokens,
            (value->>13)::bigint as completion_tokens, (value->>14)::bigint as cached_tokens,
            (value->>15)::bigint as cost_nano_usd, (value->>16)::integer as latency_ms,
            (value->>17)::integer as time_to_first_token_ms, (value->>18)::inet as source_ip, value->>19 as would_refuse
          from jsonb_array_elements(${sql.json(rows)})
        ) as row
        join audit_chains chain on chain.account_id = row.account_id
        where chain.removed_up_to is null or row.id > chain.removed_up_to
        on conflict (id) do nothing
        returning entry_digest(entry) as digest, batch, id, account_id, key, at, source_ip, coalesce(model, '') as model, status,
          coalesce(prompt_tokens, 0) as prompt_tokens, coalesce(completion_tokens, 0) as completion_tokens,
          coalesce(cached_tokens, 0) as cached_tokens, cost_nano_usd
      ),
      batches as (
        insert into audit_batches (account_id, batch, entries, newest, digest)
        select inserted.account_id, batch, count(*), (array_agg(id order by id desc))[1],
               sha256(coalesce(chain.digest, '') || sha256(string_agg(inserted.digest, ''::bytea order by id)))
        from inserted join audit_chains chain on chain.account_id = inserted.account_id
        group by inserted.account_id, batch, chain.digest
        returning account_id, batch, newest, digest
      ),
      chained as (
        update audit_chains set
          batches = batches.batch, digest = batches.digest, newest = greatest(audit_chains.newest, batches.newest)
        from batches where audit_chains.account_id = batches.account_id
      ),
      used as (
        insert into key_usage (key, requests, last_used_at, last_used_ip)
        select key, count(*), max(at), (array_agg(source_ip order by id desc))[1]
        from inserted group by key order by key
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
        select key, date_trunc('minute', at), count(*) from inserted group by 1, 2 order by 1, 2
        on conflict (key, minute) do update set requests = key_usage_minutes.requests + excluded.requests
      ),
      addresses as (
        insert into key_addresses (key, source_ip, last_seen_at)
        select key, source_ip, max(at) from inserted where source_ip is not null group by 1, 2 order by 1, 2
        on conflict (key, source_ip) do update
          set last_seen_at = greatest(key_addresses.last_seen_at, excluded.last_seen_at)
      ),
      hours as (
        insert into usage_hours as usage
        select account_id, date_trunc('hour', at, 'UTC'), key, model, ${sums}
        from inserted group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (account_id, hour, key, model) do update set ${added}
      ),
      days as (
        insert into usage_days as usage
        select account_id, date_trunc('day', at, 'UTC'), key, model, ${sums}
        from inserted group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (account_id, day, key, model) do update set ${added}
      ),
      service_hours as (
        insert into usage_service_hours as usage
        select date_trunc('hour', at, 'UTC'), ${this.#nodeId}::uuid, model, ${sums}
        from inserted group by 1, 3 order by 1, 3
        on conflict (hour, node_id, model) do update set ${added}
      ),
      account_months as (
        insert into usage_account_months as usage
        select date_trunc('month', at, 'UTC'), account_id, count(*), sum(cost_nano_usd)
        from inserted group by 1, 2 order by 1, 2
        on conflict (month, account_id) do update set
          requests = usage.requests + excluded.requests, cost_nano_usd = usage.cost_nano_usd + excluded.cost_nano_usd
      ),
      charges as (
        select account_id, sum(cost_nano_usd)::bigint as cost from inserted group by 1 having sum(cost_nano_usd) > 0
      ),
      -- In order of accounts, so that batches of two nodes, and changes of accounts, wait for each other.
      locked as (
        select id from accounts where id in (select account_id from charges) order by id for no key update
      ),
      debited as (
        update accounts set balance_nano_usd = balance_nano_usd - charges.cost
        from charges join locked on locked.id = charges.account_id
        where accounts.id = charges.account_id
        returning accounts.id, charges.cost
      ),
      written as (
        insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
        select ledger.id, ledger.account_id, now(), 'charge', -debited.cost, 'requests'
        from jsonb_to_recordset(${sql.json(ledgerIds(entries))}) as ledger (id uuid, account_id uuid)
        join debited on debited.id = ledger.account_id
      )
      -- What this node had set aside for them is spent.
      update credit_reservations set amount_nano_usd = greatest(0, amount_nano_usd - debited.cost)
      from debited
      where credit_reservations.account_id = debited.id and credit_reservations.node_id = ${this.#nodeId}`;
  }
}

function accountsOf(entries: readonly AuditEntry[]): { readonly account_id: string }[] {
  return [...new Set(entries.map(({ accountId }) => accountId))].map((accountId) => ({
    account_id: accountId,
  }));
}

/** An id for the ledger's row of each account in a batch. */
function ledgerIds(entries: readonly AuditEntry[]): { readonly id: string; readonly account_id: string }[] {
  const charged = entries.filter(({ costNanoUsd }) => costNanoUsd > 0n).map(({ accountId }) => accountId);
  return [...new Set(charged)].map((accountId) => ({ id: uuidv7(), account_id: accountId }));
}
