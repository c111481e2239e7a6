-- Some spreadsheets skip spaces before a formula, also those of other scripts and those without a width.
create or replace function csv_field(value text) returns text language sql immutable parallel safe as $$
  select case
    when value is null then ''
    when value ~ '(^|;"*)[ \u00A0\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u2060\u3000\uFEFF]*[=+@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20-]' then
      '"' || replace(regexp_replace(value, '(^|;"*)(?=[ \u00A0\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u2060\u3000\uFEFF]*[=+@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20-])', '\1''', 'g'), '"', '""') || '"'
    when value ~ '[",\n\r]' then '"' || replace(value, '"', '""') || '"'
    else value
  end
$$;
