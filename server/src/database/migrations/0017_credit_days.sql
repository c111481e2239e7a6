-- Charges of old nodes wait until the triggers that sum them up exist.
lock table credit_ledger in share row exclusive mode;

-- What requests cost an account on each UTC day. Triggers keep it in the statement that writes charges, whichever version of the
-- service does, so it is the sum of the ledger's charges and uncollected amounts at any time: a busy account has tens of thousands of
-- charges a day, too many to add up for a page.
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

-- One write for each account and day of a statement, in the order of the primary key, so that concurrent statements wait for each
-- other and do not deadlock.
create function add_to_credit_days() returns trigger language plpgsql as $$
begin
  insert into credit_days as sums (account_id, day, charged_nano_usd, uncollected_nano_usd)
  select account_id, date_trunc('day', at, 'UTC'),
         coalesce(sum(amount_nano_usd) filter (where kind = 'charge'), 0),
         coalesce(sum(amount_nano_usd) filter (where kind = 'uncollected'), 0)
  from added where kind in ('charge', 'uncollected')
  group by 1, 2 order by 1, 2
  on conflict (account_id, day) do update set
    charged_nano_usd = sums.charged_nano_usd + excluded.charged_nano_usd,
    uncollected_nano_usd = sums.uncollected_nano_usd + excluded.uncollected_nano_usd;
  return null;
end
$$;

-- The service only adds to the ledger. An operator who changes or deletes rows of it must find the sums right, too.
create function subtract_from_credit_days() returns trigger language plpgsql as $$
begin
  perform from credit_days
  where (account_id, day) in (select account_id, date_trunc('day', at, 'UTC') from removed)
  order by account_id, day for update;

  update credit_days as sums set
    charged_nano_usd = sums.charged_nano_usd - gone.charged,
    uncollected_nano_usd = sums.uncollected_nano_usd - gone.uncollected
  from (
    select account_id, date_trunc('day', at, 'UTC') as day,
           coalesce(sum(amount_nano_usd) filter (where kind = 'charge'), 0) as charged,
           coalesce(sum(amount_nano_usd) filter (where kind = 'uncollected'), 0) as uncollected
    from removed where kind in ('charge', 'uncollected')
    group by 1, 2
  ) gone
  where sums.account_id = gone.account_id and sums.day = gone.day;

  delete from credit_days
  where charged_nano_usd = 0 and uncollected_nano_usd = 0
    and (account_id, day) in (select account_id, date_trunc('day', at, 'UTC') from removed);
  return null;
end
$$;

create function empty_credit_days() returns trigger language plpgsql as $$
begin
  delete from credit_days;
  return null;
end
$$;

create trigger add_inserted_to_credit_days after insert on credit_ledger
  referencing new table as added for each statement execute function add_to_credit_days();
-- Of the two triggers of an update, the one whose name comes first adds first, so no sum has the wrong sign in between.
create trigger add_updated_to_credit_days after update on credit_ledger
  referencing new table as added for each statement execute function add_to_credit_days();
create trigger subtract_updated_from_credit_days after update on credit_ledger
  referencing old table as removed for each statement execute function subtract_from_credit_days();
create trigger subtract_deleted_from_credit_days after delete on credit_ledger
  referencing old table as removed for each statement execute function subtract_from_credit_days();
create trigger empty_credit_days after truncate on credit_ledger
  for each statement execute function empty_credit_days();

-- Grants and adjustments stand between the charges of many days.
create index credit_ledger_grants on credit_ledger (account_id, id desc) where kind in ('grant', 'adjustment');
