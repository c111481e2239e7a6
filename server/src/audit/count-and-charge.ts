import type { AuditEntry } from "../contract/entry.ts";
import type { Uncollected } from "../credits/ledger.ts";
import type { SqlFragment, Transaction } from "../database/database.ts";
import { contentsOf, type EntryDigest } from "./batch-content.ts";
import { answersOf, chargesOf, usageOf } from "./batch-sums.ts";

/** The entries of a batch that were inserted just now. */
export interface NewEntries {
  readonly entries: readonly AuditEntry[];
  readonly digests: readonly EntryDigest[];
}

/**
 * Adds new entries to the chains of their accounts, counts their usage, stores the answers that they carry, and charges them. All of it is
 * one statement, which costs one round trip: each function below writes a part of it. The chains of all accounts, and the accounts that are
 * charged, must be locked.
 *
 * @returns what accounts did not pay.
 */
export function countAndCharge(
  sql: Transaction,
  nodeId: string,
  { entries, digests }: NewEntries,
): Promise<readonly Uncollected[]> {
  return sql<Uncollected[]>`
    with
    ${chains(sql, digests)},
    ${usage(sql, nodeId, entries)},
    ${answers(sql, nodeId, entries)},
    ${payments(sql, nodeId, entries)},
    ${bookings(sql)}
    select account_id as "accountId", reason, amount as "amountNanoUsd" from uncollected`;
}

/** Adds a batch to the chain of each account. */
function chains(sql: Transaction, digests: readonly EntryDigest[]): SqlFragment {
  return sql`
    added as (
      select "accountId" as account_id, entries, newest, decode(digest, 'hex') as digest
      from jsonb_to_recordset(${rowsAsJson(sql, contentsOf(digests))})
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
    )`;
}

/**
 * Adds the entries to all sums of usage. Each insert is in the order of its key, so that the batches of two nodes wait for each other instead
 * of locking each other out.
 */
function usage(sql: Transaction, nodeId: string, entries: readonly AuditEntry[]): SqlFragment {
  const sums = sql`
    sum(requests), sum(errors), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(cost_nano_usd)`;
  const summed = sql`
    requests = usage.requests + excluded.requests,
    errors = usage.errors + excluded.errors,
    prompt_tokens = usage.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = usage.completion_tokens + excluded.completion_tokens,
    cached_tokens = usage.cached_tokens + excluded.cached_tokens,
    cost_nano_usd = usage.cost_nano_usd + excluded.cost_nano_usd`;
  return sql`
    counts as materialized (
      select "accountId" as account_id, key, usage_model(model, "errorCode", upstream) as model, "sourceIp" as source_ip,
             timestamptz 'epoch' + "minuteMs" * interval '1 millisecond' as minute,
             timestamptz 'epoch' + "lastMs" * interval '1 millisecond' as last_at,
             requests, case when has_failed(status, "errorCode") then requests else 0 end as errors,
             "promptTokens" as prompt_tokens, "completionTokens" as completion_tokens, "cachedTokens" as cached_tokens,
             "costNanoUsd" as cost_nano_usd
      from jsonb_to_recordset(${rowsAsJson(sql, usageOf(entries))}) as usage (
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
      select date_trunc('hour', minute, 'UTC'), ${nodeId}::uuid, model, ${sums}
      from counts group by 1, 3 order by 1, 3
      on conflict (hour, node_id, model) do update set ${summed}
    ),
    account_months as (
      insert into usage_account_months as usage
      select date_trunc('month', minute, 'UTC'), account_id, sum(requests), sum(cost_nano_usd)
      from counts group by 1, 2 order by 1, 2
      on conflict (month, account_id) do update set
        requests = usage.requests + excluded.requests, cost_nano_usd = usage.cost_nano_usd + excluded.cost_nano_usd
    )`;
}

/**
 * `answered`: the claims of idempotency keys whose answers are stored. The first attempt that is committed wins a key: its answer is stored, and
 * it is charged. There is another attempt if the claim of the first ended while its node was cut off.
 */
function answers(sql: Transaction, nodeId: string, entries: readonly AuditEntry[]): SqlFragment {
  return sql`
    answered as (
      insert into idempotent_requests as known
        (account_id, key_digest, body_digest, claim, node_id, renewed_at, answered_at, is_stream, model, answer)
      select distinct on ("accountId", "idempotencyKeyDigest")
             "accountId", decode("idempotencyKeyDigest", 'base64'), decode("bodyDigest", 'base64'), claim,
             ${nodeId}::uuid, now(), now(), "isStream", model, text
      from jsonb_to_recordset(${rowsAsJson(sql, answersOf(entries))}) as answer (
        entry uuid, "accountId" uuid, claim uuid, "idempotencyKeyDigest" text, "bodyDigest" text, "isStream" boolean, model text, text text
      )
      order by "accountId", "idempotencyKeyDigest", entry
      on conflict (account_id, key_digest) do update set
        claim = excluded.claim, answered_at = excluded.answered_at, is_stream = excluded.is_stream,
        model = excluded.model, answer = excluded.answer
      where known.answered_at is null and known.body_digest = excluded.body_digest
      returning claim
    )`;
}

/**
 * `paid`: what each spender of an account owes for the entries, and what pays for it. The spender's reserve pays first, and then the account's
 * free credit. Repeated answers are not charged: what was reserved for them is free again, because the node has settled their cost and no longer
 * holds it.
 */
function payments(sql: Transaction, nodeId: string, entries: readonly AuditEntry[]): SqlFragment {
  return sql`
    -- The cost of the entries, its part for repeated answers, and what upstreams reported beyond what their models can do. Entries of former
    -- versions name no spender: theirs is the first of the node.
    due as (
      select "accountId" as account_id,
             coalesce(spender, (select min(id) from credit_spenders where node_id = ${nodeId}::uuid)) as spender,
             sum("costNanoUsd")::bigint as cost,
             coalesce(sum("costNanoUsd") filter (
               where claim is not null and claim not in (select claim from answered)
             ), 0)::bigint as repeated,
             sum("implausibleNanoUsd")::bigint as implausible
      from jsonb_to_recordset(${rowsAsJson(sql, chargesOf(entries))}) as charge (
        "accountId" uuid, spender bigint, claim uuid, "costNanoUsd" bigint, "implausibleNanoUsd" bigint
      )
      group by 1, 2
    ),
    -- used: what the cost, including that of repeated answers, uses of the reserve.
    reserved as (
      select due.*, reserve.spender is null as is_closed, account.free_nano_usd as free,
             least(cost, coalesce(granted_nano_usd - charged_nano_usd, 0)) as used
      from due
      join accounts account on account.id = due.account_id
      left join credit_reserves reserve on reserve.account_id = due.account_id and reserve.spender = due.spender
    ),
    -- from_reserve: what the reserve pays. freed: what it had for repeated answers. short: what it does not pay.
    owed as (
      select *, used - from_reserve as freed, cost - repeated - from_reserve as short
      from (select *, least(cost - repeated, used) as from_reserve from reserved) used_and_paid
    ),
    -- The spenders of an account take its free credit, to which all that was freed is added, in the order of their ids.
    queued as (
      select *, sum(freed) over (partition by account_id) as freed_of_account,
             sum(short) over (partition by account_id order by spender nulls last) - short as short_before
      from owed
    ),
    paid as (
      select *, greatest(0, least(short, free + freed_of_account - short_before))::bigint as from_free from queued
    )`;
}

/** Books what was paid in the reserves, the accounts and the ledger. `uncollected`: what was not paid, by reason. */
function bookings(sql: Transaction): SqlFragment {
  return sql`
    -- What did not come from the reserve is added to the grant and to the charges alike, so that it leaves the rest of the reserve, which is
    -- the grant less the charges, as it was.
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
    )`;
}

/** Rows as one parameter in JSON. Amounts above 2^53 are texts. */
function rowsAsJson(sql: Transaction, rows: readonly object[]) {
  return sql.json(rows.map(withTexts));
}

function withTexts(row: object): Record<string, string | number | boolean | null> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? value.toString() : value]),
  );
}
