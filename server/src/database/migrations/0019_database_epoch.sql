-- The database's own history, which its nodes repeat in Redis; see docs/explanation/decisions/0022. A database that was
-- restored from a backup is behind what Redis has, and begins a new epoch.
alter table installation
  -- Random, and part of the names of keys in Redis. Empty until a first restore.
  add column database_epoch text not null default '',
  -- Raised by each node every second.
  add column epoch_tick bigint not null default 0;
