import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type AuditFilters, withoutFilter } from "./filters.ts";
import { summaryQuery, useLogSource } from "./log-source.ts";
import type { Suggestions } from "./SuggestField.tsx";

/** The interval of refreshes while the log is followed. */
const LIVE_MS = 10_000;

/** Totals and histogram of the entries that match. */
export function useSummary(filters: AuditFilters, isLive: boolean) {
  return useQuery({
    ...summaryQuery(useLogSource(), filters),
    placeholderData: keepPreviousData,
    refetchInterval: isLive ? LIVE_MS : false,
  });
}

/** The fields whose values a summary counts. */
const COUNTED = { model: "models", error_code: "errorCodes", upstream: "upstreams" } as const;

/**
 * The values of a field, those that entries with the other filters have first, with their number.
 *
 * @param known values that are always suggested.
 * @param isWanted nothing is asked for before.
 */
export function useSuggestions(
  filters: AuditFilters,
  name: keyof typeof COUNTED,
  known: readonly string[],
  isWanted: boolean,
): Suggestions {
  const others = useMemo(() => withoutFilter(filters, name), [filters, name]);
  const query = useQuery({
    ...summaryQuery(useLogSource(), others),
    enabled: isWanted,
    placeholderData: keepPreviousData,
  });
  const { data } = query;
  const values = useMemo(() => {
    const counted = data?.[COUNTED[name]] ?? [];
    const found = new Set(counted.map(({ value }) => value));
    return [
      ...counted.map(({ value, requests }) => ({ value, count: requests })),
      ...known.filter((value) => !found.has(value)).map((value) => ({ value, count: null })),
    ];
  }, [data, known, name]);
  return { values, query };
}
