import { useMemo, useState } from "react";
import { type AuditFilters, filtersOf } from "./filters.ts";
import type { AuditSearch } from "./search.ts";

/** The filters of the address. The object stays the same while the filters do, so that dependent hooks do not rerun. */
export function useFilters(search: AuditSearch): {
  readonly filters: AuditFilters;
  /** Moves the end of a range to now. */
  readonly refreshRange: () => void;
} {
  const { range, from, to, accountId, key, model, upstream, status, error_code, source } = search;
  const [opened, setOpened] = useState(() => ({ range, at: new Date() }));
  // A range ends when it was chosen, which may be later than the opening of the page.
  if (opened.range !== range) setOpened({ range, at: new Date() });
  const filters = useMemo(
    () =>
      filtersOf({ range, from, to, accountId, key, model, upstream, status, error_code, source }, opened.at),
    [range, from, to, accountId, key, model, upstream, status, error_code, source, opened.at],
  );
  return { filters, refreshRange: () => setOpened({ range, at: new Date() }) };
}
