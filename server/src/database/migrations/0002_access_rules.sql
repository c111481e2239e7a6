-- What is made once for a database and kept as long as its keys.
create table installation (
  singleton boolean primary key default true check (singleton),
  -- Marks the key strings that were minted here; see docs/explanation/decisions/0004. Not a secret that opens anything.
  key_mark_secret bytea not null,
  -- Found again in the Redis that the nodes share.
  redis_mark uuid not null default gen_random_uuid()
);

-- The nodes that use this database; see docs/explanation/architecture.md. A node that stops takes its row away.
create table nodes (
  id uuid primary key,
  -- How it hears of other nodes' changes: through Redis, or not at all.
  coordination text not null check (coordination in ('alone', 'redis')),
  -- Whether it has found, or left, the installation's mark in its Redis.
  shares_redis boolean not null default false,
  -- For people: which one it is.
  label text not null,
  seen_at timestamptz not null
);

alter table accounts
  add column suspended_at timestamptz,
  add column suspension_reason text,
  -- Addresses and CIDR blocks, an array of strings; an empty one restricts nothing.
  add column ip_rules jsonb not null default '[]',
  add column ip_rules_mode text not null default 'enforce' check (ip_rules_mode in ('enforce', 'report')),
  -- Null: as the plan says.
  add column requests_per_minute integer,
  add column tokens_per_minute integer,
  add column concurrent_requests integer;

-- Versions that were committed and perhaps not told to the admission store: a node may die between the two.
create table unpublished_versions (
  account_id uuid primary key references accounts (id),
  version bigint not null
);

-- Operators belong to the service, everybody else to an account.
alter table users
  alter column account_id drop not null,
  add column role text not null default 'owner' check (role in ('owner', 'operator')),
  add constraint users_role_account check ((role = 'operator') = (account_id is null));

alter table sessions
  add column id uuid not null default gen_random_uuid(),
  add column last_seen_at timestamptz,
  add column source_ip inet,
  add column user_agent text,
  add constraint sessions_id_unique unique (id);

create table management_tokens (
  id uuid primary key,
  user_id uuid not null references users (id),
  name text not null,
  -- The token's last 4 characters.
  token_id text not null,
  -- SHA-256 of the token, which is stored nowhere.
  digest bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  last_used_ip inet
);

create index management_tokens_by_user on management_tokens (user_id);

alter table keys
  -- The key that this one was created to take over from.
  add column replaces uuid references keys (id),
  -- For how long a key with a successor has to be unused before it counts as quiet.
  add column quiet_after_s integer,
  -- SHA-256 of the idempotency key of the call that created it.
  add column idempotency_digest bytea,
  -- When its string was minted: later than `created_at` for a key that was issued again.
  add column issued_at timestamptz;

update keys set issued_at = created_at;
alter table keys alter column issued_at set not null;

create unique index keys_idempotency_unique on keys (account_id, idempotency_digest) where idempotency_digest is not null;
create index keys_by_replaced on keys (replaces) where replaces is not null;

-- What in an account bears on who uses which key, kept with the entries' batches: counting entries would cost more
-- the more there are.
create table key_usage (
  key uuid primary key,
  requests bigint not null,
  last_used_at timestamptz not null,
  last_used_ip inet
);

-- Kept for two days.
create table key_usage_minutes (
  key uuid not null,
  minute timestamptz not null,
  requests bigint not null,
  primary key (key, minute)
);

-- Kept for 30 days after an address was last seen.
create table key_addresses (
  key uuid not null,
  source_ip inet not null,
  last_seen_at timestamptz not null,
  primary key (key, source_ip)
);

insert into key_usage (key, requests, last_used_at, last_used_ip)
select key, count(*), max(at), (array_agg(source_ip order by id desc))[1] from audit_entries group by key;
insert into key_usage_minutes (key, minute, requests)
select key, date_trunc('minute', at), count(*) from audit_entries where at > now() - interval '2 days' group by 1, 2;
insert into key_addresses (key, source_ip, last_seen_at)
select key, source_ip, max(at) from audit_entries where source_ip is not null group by 1, 2;

-- What IP rules that only report would have refused.
alter table audit_entries add column would_refuse text;

-- What people and their scripts have changed. Written in the transaction of the change, never changed after.
create table actions (
  id uuid primary key,
  at timestamptz not null,
  -- Null: the service itself.
  user_id uuid references users (id),
  management_token uuid references management_tokens (id),
  source_ip inet,
  account_id uuid references accounts (id),
  action text not null,
  reason text,
  before jsonb,
  after jsonb
);

create index actions_by_account on actions (account_id, id desc);

-- Money that came into and went out of accounts; an account's balance is the sum.
create table credit_ledger (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  at timestamptz not null,
  kind text not null check (kind in ('grant', 'adjustment')),
  amount_nano_usd bigint not null check (amount_nano_usd <> 0),
  reason text not null
);

create index credit_ledger_by_account on credit_ledger (account_id, id desc);

-- Operators search accounts by name and by their users' addresses.
create index accounts_by_name on accounts (lower(name) text_pattern_ops, id);
create index users_by_account on users (account_id);
create index users_by_email_prefix on users (email text_pattern_ops);
