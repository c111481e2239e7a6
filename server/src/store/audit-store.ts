import type { AccountId } from "../accounts/account.ts";
import type { EntryReader } from "../audit/audit-log.ts";
import type { AuditEntry, EndReason, EntryId, ListedEntry, UsageSource } from "../audit/entry.ts";
import type { EntrySink } from "../audit/recorder.ts";
import type { ErrorCode } from "../errors/failure.ts";
import type { KeyUuid } from "../keys/key.ts";
import type { Database } from "./database.ts";

interface EntryRow {
  id: EntryId;
  account_id: AccountId;
  key: KeyUuid;
  key_id: string;
  key_name: string;
  at: Date;
  endpoint: string;
  model: string | null;
  upstream: string | null;
  status: number;
  error_code: ErrorCode | null;
  end_reason: EndReason;
  usage_source: UsageSource;
  prompt_tokens: bigint | null;
  completion_tokens: bigint | null;
  cached_tokens: bigint | null;
  cost_nano_usd: bigint;
  latency_ms: number;
  time_to_first_token_ms: number | null;
  source_ip: string | null;
}

/** Audit entries in Postgres. */
export class PostgresAudit implements EntrySink, EntryReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async insertEntries(entries: readonly AuditEntry[]): Promise<void> {
    const rows = entries.map((entry) => ({
      id: entry.id,
      account_id: entry.accountId,
      key: entry.key,
      key_id: entry.keyId,
      at: entry.at.toISOString(),
      endpoint: entry.endpoint,
      model: entry.model,
      upstream: entry.upstream,
      status: entry.status,
      error_code: entry.errorCode,
      end_reason: entry.endReason,
      usage_source: entry.usageSource,
      prompt_tokens: entry.promptTokens,
      completion_tokens: entry.completionTokens,
      cached_tokens: entry.cachedTokens,
      cost_nano_usd: entry.costNanoUsd.toString(),
      latency_ms: entry.latencyMs,
      time_to_first_token_ms: entry.timeToFirstTokenMs,
      source_ip: entry.sourceIp,
    }));
    // One parameter for the whole batch: 50,000 rows a second where an insert for each row makes a few thousand.
    await this.#database`
      insert into audit_entries (
        id, account_id, key, key_id, at, endpoint, model, upstream, status, error_code, end_reason, usage_source,
        prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, latency_ms, time_to_first_token_ms, source_ip
      )
      select
        id, account_id, key, key_id, at, endpoint, model, upstream, status, error_code, end_reason, usage_source,
        prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, latency_ms, time_to_first_token_ms, source_ip
      from jsonb_to_recordset(${this.#database.json(rows)}) as row (
        id uuid, account_id uuid, key uuid, key_id text, at timestamptz, endpoint text, model text, upstream text,
        status integer, error_code text, end_reason text, usage_source text, prompt_tokens bigint,
        completion_tokens bigint, cached_tokens bigint, cost_nano_usd bigint, latency_ms integer,
        time_to_first_token_ms integer, source_ip inet
      )
      on conflict (id) do nothing`;
  }

  async listEntries(
    accountId: AccountId,
    before: EntryId | null,
    limit: number,
  ): Promise<readonly ListedEntry[]> {
    // Walks audit_entries_by_account from the cursor: page 10,000 costs what page 1 costs.
    const rows = await this.#database<EntryRow[]>`
      select entries.id, entries.account_id, entries.key, entries.key_id, keys.name as key_name, entries.at,
             entries.endpoint, entries.model, entries.upstream, entries.status, entries.error_code,
             entries.end_reason, entries.usage_source, entries.prompt_tokens, entries.completion_tokens,
             entries.cached_tokens, entries.cost_nano_usd, entries.latency_ms, entries.time_to_first_token_ms,
             host(entries.source_ip) as source_ip
      from audit_entries entries
      join keys on keys.id = entries.key
      where entries.account_id = ${accountId}
        ${before === null ? this.#database`` : this.#database`and entries.id < ${before}`}
      order by entries.id desc
      limit ${limit}`;
    return rows.map(entryOf);
  }
}

function entryOf(row: EntryRow): ListedEntry {
  return {
    id: row.id,
    accountId: row.account_id,
    key: row.key,
    keyId: row.key_id,
    keyName: row.key_name,
    at: row.at,
    endpoint: row.endpoint,
    model: row.model,
    upstream: row.upstream,
    status: row.status,
    errorCode: row.error_code,
    endReason: row.end_reason,
    usageSource: row.usage_source,
    promptTokens: numberOrNull(row.prompt_tokens),
    completionTokens: numberOrNull(row.completion_tokens),
    cachedTokens: numberOrNull(row.cached_tokens),
    costNanoUsd: row.cost_nano_usd,
    latencyMs: row.latency_ms,
    timeToFirstTokenMs: row.time_to_first_token_ms,
    sourceIp: row.source_ip,
  };
}

function numberOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
