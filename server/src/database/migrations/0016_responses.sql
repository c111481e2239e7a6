-- The key that the installation seals stored responses with, where the operator gives none. Made when it is first needed.
alter table installation add column responses_key bytea;

-- Responses of the Responses API that clients may refer to later. Content is encrypted: see server/src/secrets/sealer.ts.
create table responses (
  account_id uuid not null references accounts (id) on delete cascade,
  id text not null,
  -- Of the same account. It may have been deleted since.
  previous_id text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- The response without its output.
  head bytea not null,
  -- The items of the request, and those of the response.
  input bytea not null,
  output bytea not null,
  primary key (account_id, id)
);

create index responses_by_age on responses (created_at);
create index responses_by_expiry on responses (expires_at);

-- Encrypted content can't be compressed, and statements that only need its length do not read it.
alter table responses
  alter column head set storage external,
  alter column input set storage external,
  alter column output set storage external;

-- Where an item is that a request may refer to. The same item may be the output of one response and the input of others.
create table response_items (
  account_id uuid not null,
  -- SHA-256 of the account's id, a line feed and the item's id, which a client may have chosen: it can be part of a prompt.
  id_digest bytea not null,
  response_id text not null,
  is_output boolean not null,
  primary key (account_id, id_digest, response_id),
  foreign key (account_id, response_id) references responses (account_id, id) on delete cascade
);

create index response_items_by_response on response_items (account_id, response_id);
