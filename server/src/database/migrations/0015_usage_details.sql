-- The parts of prompt and answer that have prices of their own. `null` in entries that were recorded before.
alter table audit_entries
  add column cache_write_tokens bigint,
  add column cache_write_1h_tokens bigint,
  add column reasoning_tokens bigint,
  add column audio_tokens bigint,
  add column image_tokens bigint;

-- An entry's digest covers them where they are set, each in a line of its own with its name. The digests of entries that were recorded
-- before stay as they are. A migration that adds a field adds its line.
create or replace function entry_digest(entry audit_entries) returns bytea language sql stable parallel safe as $$
  select sha256(convert_to(
    entry.id || E'\n' ||
    to_char(entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || E'\n' ||
    entry.key_id || E'\n' ||
    entry.endpoint || E'\n' ||
    coalesce(entry.model, '') || E'\n' ||
    coalesce(entry.upstream, '') || E'\n' ||
    entry.status || E'\n' ||
    coalesce(entry.error_code, '') || E'\n' ||
    entry.end_reason || E'\n' ||
    entry.usage_source || E'\n' ||
    coalesce(entry.prompt_tokens::text, '') || E'\n' ||
    coalesce(entry.completion_tokens::text, '') || E'\n' ||
    coalesce(entry.cached_tokens::text, '') || E'\n' ||
    entry.cost_nano_usd || E'\n' ||
    entry.latency_ms || E'\n' ||
    coalesce(entry.time_to_first_token_ms::text, '') || E'\n' ||
    coalesce(host(entry.source_ip), '') || E'\n' ||
    coalesce(entry.would_refuse, '') ||
    coalesce(E'\ncache_write_tokens:' || entry.cache_write_tokens, '') ||
    coalesce(E'\ncache_write_1h_tokens:' || entry.cache_write_1h_tokens, '') ||
    coalesce(E'\nreasoning_tokens:' || entry.reasoning_tokens, '') ||
    coalesce(E'\naudio_tokens:' || entry.audio_tokens, '') ||
    coalesce(E'\nimage_tokens:' || entry.image_tokens, ''),
    'UTF8'))
$$;
