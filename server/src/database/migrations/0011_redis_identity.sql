-- The Redis servers that nodes have found behind REDIS_URL, in the order in which the first of them did; see
-- docs/explanation/decisions/0015. The same server is another one after it was a replica for a while.
create table redis_servers (
  generation integer primary key,
  run_id text not null,
  replication_id text not null,
  first_seen_at timestamptz not null default now(),
  constraint redis_servers_unique unique (run_id, replication_id)
);

alter table nodes
  -- Of the node's present process, and of what it has noted last: late statements change nothing.
  add column life uuid,
  add column redis_sequence integer not null default 0,
  -- The Redis that the node is connected to; null while it is not.
  add column redis_generation integer references redis_servers (generation),
  -- The node admits nothing by an older Redis than this one. Null for a node that is too old to tell.
  add column redis_heeded integer;
