-- The name under which usage counts a request. Clients make up names of models that the catalog does not have: all of them count as one,
-- whose name no model can have, as it holds a space. The entry keeps the name that was asked for.
create function usage_model(model text, error_code text, upstream text) returns text
language sql immutable parallel safe
return case
  when error_code = 'model_not_found' and upstream is null and model is not null then 'unknown model'
  else coalesce(model, '')
end;

-- What was counted under made-up names moves to the one name, as far as there are entries to tell which they were. Such requests
-- were all refused, and took no tokens.
create temporary table unknown_models on commit drop as
select account_id, date_trunc('hour', at, 'UTC') as hour, key, model, count(*) as requests
from audit_entries
where error_code = 'model_not_found' and upstream is null and model is not null
group by 1, 2, 3, 4;

update usage_hours set requests = usage_hours.requests - found.requests, errors = usage_hours.errors - found.requests
from unknown_models found
where usage_hours.account_id = found.account_id and usage_hours.hour = found.hour
  and usage_hours.key = found.key and usage_hours.model = found.model;

delete from usage_hours using unknown_models found
where usage_hours.account_id = found.account_id and usage_hours.hour = found.hour
  and usage_hours.key = found.key and usage_hours.model = found.model and usage_hours.requests <= 0;

insert into usage_hours
select account_id, hour, key, 'unknown model', sum(requests), sum(requests), 0, 0, 0, 0
from unknown_models group by 1, 2, 3;

create temporary table unknown_model_days on commit drop as
select account_id, date_trunc('day', hour, 'UTC') as day, key, model, sum(requests) as requests
from unknown_models group by 1, 2, 3, 4;

update usage_days set requests = usage_days.requests - found.requests, errors = usage_days.errors - found.requests
from unknown_model_days found
where usage_days.account_id = found.account_id and usage_days.day = found.day
  and usage_days.key = found.key and usage_days.model = found.model;

delete from usage_days using unknown_model_days found
where usage_days.account_id = found.account_id and usage_days.day = found.day
  and usage_days.key = found.key and usage_days.model = found.model and usage_days.requests <= 0;

insert into usage_days
select account_id, day, key, 'unknown model', sum(requests), sum(requests), 0, 0, 0, 0
from unknown_model_days group by 1, 2, 3;

-- Entries don't tell which node has counted them: they are taken from the nodes' rows in order, until there are none left.
create temporary table unknown_model_nodes on commit drop as
select hour, node_id, model,
       least(counted.errors, greatest(0, found.requests - counted.before)) as requests
from (
  select hour, node_id, model, errors,
         sum(errors) over (partition by hour, model order by node_id) - errors as before
  from usage_service_hours
) counted
join (select hour, model, sum(requests) as requests from unknown_models group by 1, 2) found using (hour, model);

update usage_service_hours counted
set requests = counted.requests - found.requests, errors = counted.errors - found.requests
from unknown_model_nodes found
where counted.hour = found.hour and counted.node_id = found.node_id and counted.model = found.model;

delete from usage_service_hours counted using unknown_model_nodes found
where counted.hour = found.hour and counted.node_id = found.node_id and counted.model = found.model
  and counted.requests <= 0;

insert into usage_service_hours
select hour, node_id, 'unknown model', sum(requests), sum(requests), 0, 0, 0, 0
from unknown_model_nodes where requests > 0 group by 1, 2;
