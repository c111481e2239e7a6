-- What an action says, as its chains cover it: see docs/explanation/decisions/0008. Accounts are not told which operator changed
-- them. Never to be changed: digests of what was recorded before would not match any more.
create function action_text(action actions, for_operators boolean) returns text language sql stable as $$
  select row_to_json(told)::text from (
    select action.id,
           to_char(action.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
           by_operator,
           case when is_told then action.user_id end as user_id,
           case when is_told then action.management_token end as management_token,
           case when is_told then host(action.source_ip) end as source_ip,
           action.account_id, action.action, action.reason, action.before, action.after
    from (select coalesce((select role = 'operator' from users where users.id = action.user_id), false) as by_operator) who,
         lateral (select for_operators or not by_operator as is_told) view
  ) told
$$;

-- The end of each account's chain, and of the whole trail's, whose owner is the nil UUID. Locked by whoever adds to it.
create table action_chains (
  owner uuid primary key,
  length bigint not null default 0,
  digest bytea
);

create table action_links (
  owner uuid not null,
  -- From 1, without gaps.
  position bigint not null,
  action uuid not null references actions (id),
  -- SHA-256 of the digest before (nothing, for the first) and of the SHA-256 of the action's text.
  digest bytea not null,
  primary key (owner, position)
);

create unique index action_links_by_action on action_links (action, owner);

create function link_action(added actions, chain_owner uuid) returns void language plpgsql as $$
declare
  chain action_chains;
begin
  insert into action_chains as known (owner) values (chain_owner)
  on conflict (owner) do update set length = known.length
  returning * into chain;
  chain.length := chain.length + 1;
  chain.digest := sha256(
    coalesce(chain.digest, '') ||
    sha256(convert_to(action_text(added, chain_owner = '00000000-0000-0000-0000-000000000000'), 'UTF8')));
  insert into action_links (owner, position, action, digest) values (chain_owner, chain.length, added.id, chain.digest);
  update action_chains set length = chain.length, digest = chain.digest where owner = chain_owner;
end
$$;

-- The trail is locked first, so that transactions with actions of several accounts do not wait for each other in a circle.
create function chain_action(added actions) returns void language plpgsql as $$
begin
  perform link_action(added, '00000000-0000-0000-0000-000000000000');
  if added.account_id is not null then
    perform link_action(added, added.account_id);
  end if;
end
$$;

create function chain_new_action() returns trigger language plpgsql as $$
begin
  perform chain_action(new);
  return null;
end
$$;

-- What was there before is chained in the order of its ids.
do $$
declare
  known actions;
begin
  for known in select * from actions order by id loop
    perform chain_action(known);
  end loop;
end
$$;

-- At the end of the transaction, when all other locks are held: the trail's lock is the last, and held for the shortest time.
create constraint trigger chain_action after insert on actions
  deferrable initially deferred for each row execute function chain_new_action();
