import { useMemo, useState } from "react";
import { type AuditFilters, filtersOf } from "./filters.ts";
import type { AuditSearch } from "./search.ts";

/** The filters of the address: the same object as long as they are the same, so that what depends on them stays. */
export function useFilters(search: AuditSearch): {
  readonly filters: AuditFilters;
  /** Has a range end now again. */
  readonly refreshRange: () => void;
} {
  const { range, from, to, key, model, status, error_code, source } = search;
  const [opened, setOpened] = useState(() => ({ range, at: new Date() }));
  // A range ends when it was chosen, not when the page was opened.
  if (opened.range !== range) setOpened({ range, at: new Date() });
  const filters = useMemo(
    () => filtersOf({ range, from, to, key, model, status, error_code, source }, opened.at),
    [range, from, to, key, model, status, error_code, source, opened.at],
  );
  return { filters, refreshRange: () => setOpened({ range, at: new Date() }) };
}
