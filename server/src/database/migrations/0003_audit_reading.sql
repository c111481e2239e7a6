-- Which transaction recorded an entry: whoever reads page after page, or resumes an export, sees what was recorded when
-- they began, no more and no less, though entries go on arriving in any order.
alter table audit_entries add column recorded_in xid8 not null default pg_current_xact_id();

-- A field of a CSV file (RFC 4180). What a spreadsheet would take for a formula is made text by an apostrophe.
create function csv_field(value text) returns text language sql immutable parallel safe as $$
  select case
    when value is null then ''
    when value ~ '^[=+@\t\r-]' then '"''' || replace(value, '"', '""') || '"'
    when value ~ '[",\n\r]' then '"' || replace(value, '"', '""') || '"'
    else value
  end
$$;
