-- The parts of prompt and answer that have prices of their own. `null` in entries that were recorded before. No digest covers them.
alter table audit_entries
  add column cache_write_tokens bigint,
  add column cache_write_1h_tokens bigint,
  add column reasoning_tokens bigint,
  add column audio_tokens bigint,
  add column image_tokens bigint;
