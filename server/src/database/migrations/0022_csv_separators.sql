-- In locales where semicolons separate the fields of CSV, a formula may also begin after one within a text, even if quotes precede it.
create or replace function csv_field(value text) returns text language sql immutable parallel safe as $$
  select case
    when value is null then ''
    when value ~ '(^|;"*)[=+@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20-]' then
      '"' || replace(regexp_replace(value, '(^|;"*)(?=[=+@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20-])', '\1''', 'g'), '"', '""') || '"'
    when value ~ '[",\n\r]' then '"' || replace(value, '"', '""') || '"'
    else value
  end
$$;
