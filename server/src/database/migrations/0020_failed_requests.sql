-- Whether a request failed. An answer that had begun may have failed with status 200.
create function has_failed(status integer, error_code text) returns boolean language sql immutable parallel safe as $$
  select status >= 400 or error_code is not null
$$;

-- Until now only the status counted, so streams that were broken off were missing in the sums of errors.
create temporary table broken_off on commit drop as
select account_id, date_trunc('hour', at, 'UTC') as hour, key, usage_model(model, error_code, upstream) as model, count(*) as errors
from audit_entries where status < 400 and error_code is not null
group by 1, 2, 3, 4;

update usage_hours usage set errors = usage.errors + broken_off.errors
from broken_off
where usage.account_id = broken_off.account_id and usage.hour = broken_off.hour
  and usage.key = broken_off.key and usage.model = broken_off.model;

update usage_days usage set errors = usage.errors + broken_off.errors
from (
  select account_id, date_trunc('day', hour, 'UTC') as day, key, model, sum(errors) as errors from broken_off group by 1, 2, 3, 4
) broken_off
where usage.account_id = broken_off.account_id and usage.day = broken_off.day
  and usage.key = broken_off.key and usage.model = broken_off.model;

-- Entries do not say which node served them, so one of the nodes gets all of an hour.
update usage_service_hours usage set errors = usage.errors + broken_off.errors
from (select hour, model, sum(errors) as errors from broken_off group by 1, 2) broken_off
where usage.hour = broken_off.hour and usage.model = broken_off.model
  and usage.node_id = (
    select node_id from usage_service_hours other
    where other.hour = broken_off.hour and other.model = broken_off.model order by node_id limit 1
  );
