import type { AccountId } from "../accounts/account.ts";
import type { UsageQuestion, UsageReader, UsageRow } from "../audit/usage.ts";
import type { KeyUuid } from "../keys/key.ts";
import type { Database } from "./database.ts";

interface Row {
  start: Date;
  model: string | null;
  key: KeyUuid | null;
  key_id: string | null;
  key_name: string | null;
  requests: bigint;
  errors: bigint;
  prompt_tokens: bigint;
  completion_tokens: bigint;
  cached_tokens: bigint;
  cost_nano_usd: bigint;
}

/** The rollups of audit entries in Postgres. */
export class PostgresUsage implements UsageReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async readUsage(
    accountId: AccountId,
    { from, to, interval, groupBy }: UsageQuestion,
  ): Promise<readonly UsageRow[]> {
    const sql = this.#database;
    // Uses the primary keys, by account and time.
    const source =
      interval === "hour"
        ? sql`select hour as at, * from usage_hours`
        : sql`select day as at, * from usage_days`;
    const rows = await sql<Row[]>`
      with narrow as (
        -- By the rows' own intervals first: truncating every row would cost more than adding it up.
        select at,
               ${groupBy === "model" ? sql`model` : sql`null::text`} as model,
               ${groupBy === "key" ? sql`key` : sql`null::uuid`} as key,
               sum(requests) as requests, sum(errors) as errors, sum(prompt_tokens) as prompt_tokens,
               sum(completion_tokens) as completion_tokens, sum(cached_tokens) as cached_tokens,
               sum(cost_nano_usd) as cost_nano_usd
        from (${source}) source
        where account_id = ${accountId}
          and at >= date_trunc(${interval}, ${from}::timestamptz, 'UTC')
          and at < date_trunc(${interval}, ${to}::timestamptz, 'UTC')
        group by 1, 2, 3
      ),
      usage as (
        select date_trunc(${interval}, at, 'UTC') as start, model, key,
               sum(requests)::bigint as requests, sum(errors)::bigint as errors,
               sum(prompt_tokens)::bigint as prompt_tokens, sum(completion_tokens)::bigint as completion_tokens,
               sum(cached_tokens)::bigint as cached_tokens, sum(cost_nano_usd)::bigint as cost_nano_usd
        from narrow group by 1, 2, 3
      )
      select usage.*, keys.key_id, keys.name as key_name
      from usage
      left join keys on keys.id = usage.key
      order by start, model, key`;
    return rows.map((row) => ({
      start: row.start,
      model: row.model,
      key: row.key === null ? null : { id: row.key, keyId: row.key_id ?? "", name: row.key_name ?? "" },
      requests: Number(row.requests),
      errors: Number(row.errors),
      promptTokens: Number(row.prompt_tokens),
      completionTokens: Number(row.completion_tokens),
      cachedTokens: Number(row.cached_tokens),
      costNanoUsd: row.cost_nano_usd,
    }));
  }
}
