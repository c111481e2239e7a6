-- Spreadsheets in some locales also take full-width signs for the beginning of a formula, and some skip a leading line feed.
create or replace function csv_field(value text) returns text language sql immutable parallel safe as $$
  select case
    when value is null then ''
    when value ~ '^[=+@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20-]' then '"''' || replace(value, '"', '""') || '"'
    when value ~ '[",\n\r]' then '"' || replace(value, '"', '""') || '"'
    else value
  end
$$;
