-- Credit is always in exactly one place: free on the account, or set aside in the reserve of a spender. No place can hold less
-- than nothing, so no statement can overdraw an account, however late, repeated or wrong it is. See docs/explanation/credit.md.
lock table accounts, credit_reservations in exclusive mode;

-- The id of a row that is written now: a UUIDv7 (RFC 9562), so that rows sort by time, and of one millisecond by their place.
create function ledger_entry_id(place integer) returns uuid language sql volatile as $$
  select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
          || lpad(to_hex(place), 3, '0') || '8' || substr(random_part, 1, 15))::uuid
  from (select md5(gen_random_uuid()::text) as random_part) source
$$;

alter table credit_ledger
  drop constraint credit_ledger_kind_check,
  add constraint credit_ledger_kind_check check (kind in ('grant', 'adjustment', 'charge', 'uncollected'));

create index credit_ledger_uncollected on credit_ledger (at) where kind = 'uncollected';

-- One life of a node. An id is never given twice, so nothing that names a closed spender can ever mean another.
create table credit_spenders (
  id bigint generated always as identity primary key,
  node_id uuid not null,
  -- For people: which process it is.
  label text not null,
  seen_at timestamptz not null default now()
);

create index credit_spenders_by_node on credit_spenders (node_id, id);

-- What is set aside of an account for a spender: granted_nano_usd - charged_nano_usd. It never lapses by time.
create table credit_reserves (
  account_id uuid not null references accounts (id),
  -- Not "on delete cascade": a late statement that names a closed spender must fail.
  spender bigint not null references credit_spenders (id),
  -- All that the spender was ever given, and all that was ever charged to it.
  granted_nano_usd bigint not null,
  charged_nano_usd bigint not null default 0,
  -- Of the last request that changed what is granted. A request with a lower number changes nothing.
  number bigint not null,
  -- Another node is short of credit.
  wanted boolean not null default false,
  primary key (account_id, spender),
  check (charged_nano_usd >= 0),
  check (charged_nano_usd <= granted_nano_usd)
);

create index credit_reserves_by_spender on credit_reserves (spender);
create index credit_reserves_wanted on credit_reserves (spender) where wanted;

-- Spenders that were closed by an operator or after a time, though their nodes had not said what they spent.
create table credit_releases (
  spender bigint not null,
  account_id uuid not null references accounts (id),
  node_id uuid not null,
  label text not null,
  amount_nano_usd bigint not null check (amount_nano_usd >= 0),
  at timestamptz not null default now(),
  -- Null: the service itself.
  user_id uuid references users (id),
  reason text not null,
  primary key (spender, account_id)
);

-- Accounts that former versions overdrew begin at nothing; what they owed is recorded as uncollected.
insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
select ledger_entry_id(0), id, now(), 'uncollected', -balance_nano_usd, 'before migration'
from accounts where balance_nano_usd < 0;
update accounts set balance_nano_usd = 0 where balance_nano_usd < 0;

-- Each node's reservations become the reserves of one spender, cut where together they exceed the balance.
insert into credit_spenders (node_id, label, seen_at)
select node_id, 'a former version', max(renewed_at) from credit_reservations group by node_id order by node_id;

insert into credit_reserves (account_id, spender, granted_nano_usd, number)
select account_id, spender, granted, 0
from (
  select reservation.account_id, spender.id as spender,
         greatest(0, least(
           amount_nano_usd,
           balance_nano_usd - (sum(amount_nano_usd) over (partition by reservation.account_id order by spender.id) - amount_nano_usd)
         ))::bigint as granted
  from credit_reservations reservation
  join credit_spenders spender using (node_id)
  join accounts on accounts.id = reservation.account_id
) cut
where granted > 0;

drop table credit_reservations;

alter table accounts rename column balance_nano_usd to free_nano_usd;
update accounts set free_nano_usd = free_nano_usd - reserved.amount
from (select account_id, sum(granted_nano_usd) as amount from credit_reserves group by account_id) reserved
where reserved.account_id = accounts.id;
alter table accounts add constraint accounts_free_not_negative check (free_nano_usd >= 0);

-- What an account has: what is free and what is set aside. Equal to the sum of its ledger at any moment.
create function balance_nano_usd(account accounts) returns bigint language sql stable parallel safe as $$
  select account.free_nano_usd
         + coalesce((select sum(granted_nano_usd - charged_nano_usd) from credit_reserves where account_id = account.id), 0)::bigint
$$;

-- Which life of its node claimed the request.
alter table idempotent_requests add column spender bigint;
