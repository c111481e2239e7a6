import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { queryClient } from "../../api/client.ts";
import { connection } from "../../api/connection.ts";
import type { EntryPage } from "./entry-list.ts";
import type { AuditFilters } from "./filters.ts";
import { type LogSource, useLogSource } from "./log-source.ts";

/** A page that fills the window. */
const FIRST_PAGE_SIZE = 100;
/** The maximum that can be read without delaying a frame. */
const PAGE_SIZE = 500;
/** More than a person scrolls through. The export has all entries. */
export const MAX_ENTRIES = 200_000;
const NO_PAGES: readonly EntryPage[] = [];

/**
 * The pages of the log that have been loaded, newest first.
 *
 * @param filters must be the same object while the filters are the same.
 */
export function useEntries(filters: AuditFilters) {
  const source = useLogSource();
  const options = useMemo(() => entriesOf(source, filters), [source, filters]);
  const log = useInfiniteQuery(options);
  const { refetch } = log;

  /** Reads the first page again and drops the others. Resolves to whether the read succeeded. */
  const reload = useCallback(async () => {
    queryClient.setQueryData(options.queryKey, (data) =>
      data === undefined
        ? undefined
        : { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
    );
    const { isSuccess } = await refetch();
    return isSuccess;
  }, [options, refetch]);

  const { fetchNextPage, isFetchNextPageError } = log;
  const mayLoadMore = log.hasNextPage && !log.isFetching && !isFetchNextPageError;
  /** Reads the next page, unless there is none or one is being read. */
  const loadMore = useCallback(() => {
    if (mayLoadMore) void fetchNextPage();
  }, [mayLoadMore, fetchNextPage]);

  // A page that failed with the connection is retried with it.
  useEffect(() => {
    if (!isFetchNextPageError) return;
    return connection.subscribe(() => {
      if (!connection.isLost()) void fetchNextPage();
    });
  }, [isFetchNextPageError, fetchNextPage]);

  return { log, pages: log.data?.pages ?? NO_PAGES, reload, loadMore };
}

function entriesOf({ name, list }: LogSource, filters: AuditFilters) {
  return infiniteQueryOptions({
    queryKey: ["log", name, "entries", filters],
    queryFn: ({ pageParam, signal }) =>
      list(
        pageParam === null
          ? { ...filters, limit: FIRST_PAGE_SIZE }
          : { ...filters, limit: PAGE_SIZE, cursor: pageParam },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }, pages) => (countOf(pages) >= MAX_ENTRIES ? null : nextCursor),
    // A page shows the log at the time of the first read: a refetch would read all pages in turn.
    staleTime: ({ state }) => (state.data === undefined ? 0 : "static"),
    // Comparing pages or caching those of other filters has no use.
    structuralSharing: false,
    gcTime: 0,
  });
}

function countOf(pages: readonly EntryPage[]): number {
  return pages.reduce((count, { entries }) => count + entries.length, 0);
}
