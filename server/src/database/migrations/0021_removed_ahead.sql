-- Entries that were deleted at the end of their retention although their dates are later than those of entries that are kept, because a
-- node's clock was far ahead. audit_chains.removed_up_to does not cover them. What comes again from an old journal was recorded once.
create table audit_removed_ahead (
  account_id uuid not null,
  id uuid not null,
  -- Its date. Sums of usage of that hour still have it.
  at timestamptz not null,
  primary key (account_id, id)
);
