-- Requests that came with an idempotency key, and what they were answered with: kept for a day.
create table idempotent_requests (
  account_id uuid not null references accounts (id),
  -- SHA-256 of the endpoint and the idempotency key.
  key_digest bytea not null,
  -- SHA-256 of the body.
  body_digest bytea not null,
  created_at timestamptz not null default now(),
  -- Which attempt at it is under way, on which node, and when that was last heard of.
  claim uuid not null,
  node_id uuid not null,
  renewed_at timestamptz not null,
  answered_at timestamptz,
  is_stream boolean,
  model text,
  -- Null although it was answered: it was too long.
  answer text,
  primary key (account_id, key_digest)
);

create index idempotent_requests_by_age on idempotent_requests (created_at);
create index idempotent_requests_running on idempotent_requests (claim) where answered_at is null;
