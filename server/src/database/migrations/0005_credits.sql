alter table credit_ledger
  drop constraint credit_ledger_kind_check,
  add constraint credit_ledger_kind_check check (kind in ('grant', 'adjustment', 'charge'));

-- The sum of the account's ledger, kept in the transactions that write to it.
alter table accounts add column balance_nano_usd bigint not null default 0;

update accounts set balance_nano_usd = ledger.balance
from (select account_id, sum(amount_nano_usd) as balance from credit_ledger group by account_id) ledger
where ledger.account_id = accounts.id;

-- What nodes may spend without asking: together never more than the balance, so however nodes, Redis and the network
-- fail, what they admit is paid for.
create table credit_reservations (
  account_id uuid not null references accounts (id),
  node_id uuid not null,
  amount_nano_usd bigint not null check (amount_nano_usd >= 0),
  -- Another node is short of credit.
  wanted boolean not null default false,
  renewed_at timestamptz not null,
  primary key (account_id, node_id)
);

create index credit_reservations_by_node on credit_reservations (node_id);
