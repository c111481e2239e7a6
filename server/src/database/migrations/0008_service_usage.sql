-- What the whole service uses, by hour (UTC) and model, for its operators. Added to in the statement that inserts the entries.
-- Each node has rows of its own: at a row for all of them, the nodes' batches would wait for each other.
create table usage_service_hours (
  hour timestamptz not null,
  node_id uuid not null,
  model text not null,
  requests bigint not null,
  -- Answered with 400 or more.
  errors bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  cost_nano_usd bigint not null,
  primary key (hour, node_id, model)
);

-- What orders accounts by their cost over a long time: adding up their days would take seconds where there are many.
create table usage_account_months (
  month timestamptz not null,
  account_id uuid not null,
  requests bigint not null,
  cost_nano_usd bigint not null,
  primary key (month, account_id)
);

-- For what is asked of all accounts at once.
create index usage_hours_by_hour on usage_hours (hour);
create index usage_days_by_day on usage_days (day);

-- What was counted before counts as that of a node which there is none of.
insert into usage_service_hours
select hour, '00000000-0000-0000-0000-000000000000', model, sum(requests), sum(errors), sum(prompt_tokens),
       sum(completion_tokens), sum(cached_tokens), sum(cost_nano_usd)
from usage_hours group by hour, model;

insert into usage_account_months
select date_trunc('month', day, 'UTC'), account_id, sum(requests), sum(cost_nano_usd)
from usage_days group by 1, 2;
