-- What accounts use, by hour and by day (UTC), key and model. Added to in the statement that inserts the entries, so it is
-- their sum at any time. A request that named no model has the empty one.
create table usage_hours (
  account_id uuid not null,
  hour timestamptz not null,
  key uuid not null,
  model text not null,
  requests bigint not null,
  -- Answered with 400 or more.
  errors bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  cost_nano_usd bigint not null,
  primary key (account_id, hour, key, model)
);

create table usage_days (
  account_id uuid not null,
  day timestamptz not null,
  key uuid not null,
  model text not null,
  requests bigint not null,
  errors bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  cost_nano_usd bigint not null,
  primary key (account_id, day, key, model)
);

insert into usage_hours
select account_id, date_trunc('hour', at, 'UTC'), key, coalesce(model, ''), count(*), count(*) filter (where status >= 400),
       coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_tokens), 0),
       sum(cost_nano_usd)
from audit_entries group by 1, 2, 3, 4;

insert into usage_days
select account_id, date_trunc('day', hour, 'UTC'), key, model, sum(requests), sum(errors), sum(prompt_tokens),
       sum(completion_tokens), sum(cached_tokens), sum(cost_nano_usd)
from usage_hours group by 1, 2, 3, 4;
