-- Actions of old nodes wait until the trigger that chains them exists.
lock table actions in share row exclusive mode;

-- Whether the user was an operator then. A chain covers nothing that can change later, such as a user's role.
alter table actions add column by_operator boolean not null default false;
update actions set by_operator = true from users where users.id = actions.user_id and users.role = 'operator';

create function mark_operators_action() returns trigger language plpgsql as $$
begin
  new.by_operator := exists (select from users where id = new.user_id and role = 'operator');
  return new;
end
$$;

create trigger mark_operators_action before insert on actions
  for each row execute function mark_operators_action();

-- What an action says, as its chains cover it: see docs/explanation/decisions/0008. Accounts are not told which operator changed
-- them. Never to be changed: digests of what was recorded before would not match any more.
create function action_text(action actions, for_operators boolean) returns text language sql stable as $$
  select row_to_json(fields)::text from (
    select action.id,
           to_char(action.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
           action.by_operator,
           case when shows_actor then action.user_id end as user_id,
           case when shows_actor then action.management_token end as management_token,
           case when shows_actor then host(action.source_ip) end as source_ip,
           action.account_id, action.action, action.reason, action.before, action.after
    from (select for_operators or not action.by_operator as shows_actor) reader
  ) fields
$$;

-- The digest of a chain with one more action: SHA-256 of the digest before (nothing, for the first) and of the SHA-256 of its text.
create function next_digest(digest bytea, added actions, owner uuid) returns bytea language sql stable as $$
  select sha256(
    coalesce(digest, '') ||
    sha256(convert_to(action_text(added, owner = '00000000-0000-0000-0000-000000000000'), 'UTF8')))
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
  -- Of the chain up to here: see next_digest.
  digest bytea not null,
  primary key (owner, position)
);

create unique index action_links_by_action on action_links (action, owner);

create function link_action(added actions, chain_owner uuid) returns void language plpgsql as $$
declare
  chain action_chains;
begin
  insert into action_chains (owner) values (chain_owner) on conflict do nothing;
  select * into chain from action_chains where owner = chain_owner for update;
  chain.length := chain.length + 1;
  chain.digest := next_digest(chain.digest, added, chain_owner);
  insert into action_links (owner, position, action, digest) values (chain_owner, chain.length, added.id, chain.digest);
  update action_chains set length = chain.length, digest = chain.digest where owner = chain_owner;
end
$$;

create function chain_new_action() returns trigger language plpgsql as $$
begin
  -- The trail is locked first, so that transactions with actions of several accounts do not wait for each other in a circle.
  perform link_action(new, '00000000-0000-0000-0000-000000000000');
  if new.account_id is not null then
    perform link_action(new, new.account_id);
  end if;
  return null;
end
$$;

-- What was there before is chained in the order of its ids: chain by chain, so that each end is written once.
do $$
declare
  known record;
  chain action_chains;
begin
  for known in
    select owner, action from (
      select '00000000-0000-0000-0000-000000000000'::uuid as owner, actions as action from actions
      union all
      select account_id, actions from actions where account_id is not null
    ) owned
    order by owner, (action).id
  loop
    if chain.owner is distinct from known.owner then
      if chain.owner is not null then
        insert into action_chains values (chain.*);
      end if;
      chain := row(known.owner, 0, null)::action_chains;
    end if;
    chain.length := chain.length + 1;
    chain.digest := next_digest(chain.digest, known.action, chain.owner);
    insert into action_links (owner, position, action, digest)
    values (chain.owner, chain.length, (known.action).id, chain.digest);
  end loop;
  if chain.owner is not null then
    insert into action_chains values (chain.*);
  end if;
end
$$;

-- At the end of the transaction, when all other locks are held: the trail's lock is the last, and held for the shortest time.
create constraint trigger chain_action after insert on actions
  deferrable initially deferred for each row execute function chain_new_action();
