-- Digests of the settings that all nodes must share, so that nodes notice when they have different ones. The digests are keyed, and have no
-- secrets that could be guessed. A row belongs to one process of a node (`life`): a process of an older version leaves that of the process before.
create table node_settings (
  node_id uuid primary key references nodes (id) on delete cascade,
  life uuid not null,
  version text not null,
  digests jsonb not null
);
