-- The outcomes of grants with an idempotency key, so that a grant that is repeated after a lost answer is booked once. Operators make few
-- grants, so the rows are kept.
create table credit_grants (
  account_id uuid not null references accounts (id),
  -- SHA-256 of the idempotency key.
  key_digest bytea not null,
  at timestamptz not null,
  -- What the call asked for.
  requested_nano_usd bigint not null,
  reason text not null,
  -- What it was answered.
  amount_nano_usd bigint not null,
  balance_nano_usd bigint not null,
  primary key (account_id, key_digest)
);
