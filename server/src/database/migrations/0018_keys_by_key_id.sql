-- Operators find an account by the last four characters of one of its keys, which is what logs and messages show of it.
create index keys_by_key_id on keys (key_id);
