-- What somebody did at the service's doors, counted by hour and by what the events have in common. Kept for 90 days. No key, token
-- or password is in it, nor an e-mail address that is no user's.
create table security_events (
  id uuid primary key,
  hour timestamptz not null,
  kind text not null,
  account_id uuid,
  -- The key string's last 4 characters, of keys that are or were somebody's.
  key_id text,
  user_email text,
  source_ip inet,
  upstream text,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  constraint security_events_group unique nulls not distinct
    (hour, kind, account_id, key_id, user_email, source_ip, upstream)
);

-- Last seen first: all of them, those of a kind, those of an account.
create index security_events_by_time on security_events (last_at desc, id desc);
create index security_events_by_kind on security_events (kind, last_at desc, id desc);
create index security_events_by_account on security_events (account_id, last_at desc, id desc)
  where account_id is not null;
