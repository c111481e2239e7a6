-- Accounts own keys. `version` is raised by every change that bears on who may pass; see docs/explanation/architecture.md.
create table accounts (
  id uuid primary key,
  name text not null,
  plan text not null default 'free' check (plan in ('free', 'pro', 'enterprise')),
  state text not null default 'active' check (state in ('active', 'suspended')),
  version bigint not null default 1,
  created_at timestamptz not null
);

create table users (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  -- Lower case: an address names one user however it is typed.
  email text not null unique,
  password_hash text not null,
  created_at timestamptz not null
);

create table sessions (
  -- SHA-256 of the cookie's value.
  digest bytea primary key,
  user_id uuid not null references users (id),
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index sessions_by_user on sessions (user_id);

create table keys (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  name text not null,
  -- The key string's last 4 characters.
  key_id text not null,
  -- SHA-256 of the key string, which is stored nowhere.
  digest bytea not null unique,
  state text not null default 'active' check (state in ('active', 'revoked')),
  created_at timestamptz not null,
  revoked_at timestamptz,
  constraint keys_key_id_unique unique (account_id, key_id)
);

-- A revoked key's name may be used again.
create unique index keys_active_name_unique on keys (account_id, name) where state = 'active';

-- One row a request. `id` is the request's UUIDv7, so a range of ids is a range of time: months are partitions,
-- and the primary key alone makes a replayed batch harmless.
create table audit_entries (
  id uuid not null,
  account_id uuid not null,
  key uuid not null,
  key_id text not null,
  at timestamptz not null,
  endpoint text not null,
  model text,
  upstream text,
  status integer not null,
  error_code text,
  end_reason text not null,
  usage_source text not null,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_tokens bigint,
  cost_nano_usd bigint not null,
  latency_ms integer not null,
  time_to_first_token_ms integer,
  source_ip inet,
  primary key (id)
) partition by range (id);

create index audit_entries_by_account on audit_entries (account_id, id desc);
create index audit_entries_by_key on audit_entries (key, id desc);

-- Catches what a wrong clock puts outside the monthly partitions.
create table audit_entries_other partition of audit_entries default;
