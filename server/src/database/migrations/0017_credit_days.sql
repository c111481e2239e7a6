-- What requests cost an account on each UTC day. Kept in the statement that writes the charges, so it is the sum of the ledger's
-- charges and uncollected amounts at any time: a busy account has tens of thousands of charges a day, too many to add up for a page.
create table credit_days (
  account_id uuid not null references accounts (id),
  day timestamptz not null,
  -- As in the ledger: negative.
  charged_nano_usd bigint not null check (charged_nano_usd <= 0),
  -- The part of it that the account did not pay.
  uncollected_nano_usd bigint not null check (uncollected_nano_usd >= 0),
  primary key (account_id, day)
);

insert into credit_days (account_id, day, charged_nano_usd, uncollected_nano_usd)
select account_id, date_trunc('day', at, 'UTC'),
       coalesce(sum(amount_nano_usd) filter (where kind = 'charge'), 0),
       coalesce(sum(amount_nano_usd) filter (where kind = 'uncollected'), 0)
from credit_ledger where kind in ('charge', 'uncollected')
group by 1, 2;

-- Grants and adjustments stand between the charges of many days.
create index credit_ledger_grants on credit_ledger (account_id, id desc) where kind in ('grant', 'adjustment');
