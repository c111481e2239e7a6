-- What an entry says, as the audit chain covers it: see docs/explanation/decisions/0008. One field a line, empty where there is none;
-- no field can hold a line break. Never to be changed: digests of what was recorded before would not match any more.
create function entry_digest(entry audit_entries) returns bytea language sql stable parallel safe as $$
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
    coalesce(entry.would_refuse, ''),
    'UTF8'))
$$;

-- Entries are recorded in batches, numbered for each account without gaps in the order of their commits: whoever reads page
-- after page, or resumes an export, sees what was recorded when they began, though entries go on arriving in any order.
-- What was there before is each account's first batch.
alter table audit_entries
  drop column recorded_in,
  add column batch bigint not null default 1 check (batch > 0);
alter table audit_entries alter column batch drop default;

create index audit_entries_by_batch on audit_entries (account_id, batch);

-- Where each account's chain stands. Locked by whoever adds to it.
create table audit_chains (
  account_id uuid primary key,
  -- How many batches there have been: the number of the last.
  batches bigint not null default 0,
  -- That of the last batch.
  digest bytea,
  -- The newest entry's id: where reading backwards begins.
  newest uuid,
  -- Batches up to this one have been removed, as old as the plan lets them become.
  removed_batches bigint not null default 0,
  removed_digest bytea,
  -- The newest of their entries' ids. What comes again after that, from a journal that lay about for long, was recorded once.
  removed_up_to uuid
);

create table audit_batches (
  account_id uuid not null,
  batch bigint not null,
  recorded_at timestamptz not null default now(),
  entries integer not null,
  -- The newest entry's id.
  newest uuid not null,
  -- SHA-256 of the digest of the batch before (nothing, for the first) and of the SHA-256 of the entries' digests in
  -- order of their ids.
  digest bytea not null,
  primary key (account_id, batch)
);

insert into audit_batches (account_id, batch, entries, newest, digest)
select account_id, 1, count(*), (array_agg(id order by id desc))[1],
       sha256(sha256(string_agg(entry_digest(entry), ''::bytea order by id)))
from audit_entries entry group by account_id;

insert into audit_chains (account_id, batches, digest, newest)
select account_id, batch, digest, newest from audit_batches;
