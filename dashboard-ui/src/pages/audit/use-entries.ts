import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { api, client, queryClient } from "../../api/client.ts";
import { connection } from "../../api/connection.ts";
import type { AuditFilters } from "./filters.ts";

/** Enough to fill the window. */
const FIRST_PAGE_SIZE = 100;
/** As many as can be read without holding up a frame. */
const PAGE_SIZE = 500;
/** More than anybody scrolls through; who wants all of it exports it. */
export const MAX_ENTRIES = 200_000;

/**
 * The pages of the log that have been loaded, newest first.
 *
 * @param filters the same object as long as they are the same filters.
 */
export function useEntries(filters: AuditFilters) {
  const options = useMemo(() => entriesOf(filters), [filters]);
  const log = useInfiniteQuery(options);
  const { refetch } = log;

  /** Reads the first page again and forgets the others. Resolves to whether it could be read. */
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
  /** Reads the page after the last, if there is one, and what is being read is not waited for. */
  const loadMore = useCallback(() => {
    if (mayLoadMore) void fetchNextPage();
  }, [mayLoadMore, fetchNextPage]);

  // What failed with the connection is tried again with it.
  useEffect(() => {
    if (!isFetchNextPageError) return;
    return connection.subscribe(() => {
      if (!connection.isLost()) void fetchNextPage();
    });
  }, [isFetchNextPageError, fetchNextPage]);

  return { log, reload, loadMore };
}

function entriesOf(filters: AuditFilters) {
  return infiniteQueryOptions({
    queryKey: api.audit.list.infiniteQueryKey(filters),
    queryFn: ({ pageParam, signal }) =>
      client.audit.list.query(
        pageParam === null
          ? { ...filters, limit: FIRST_PAGE_SIZE }
          : { ...filters, limit: PAGE_SIZE, cursor: pageParam },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }, pages) =>
      pages.length * PAGE_SIZE > MAX_ENTRIES ? null : nextCursor,
    // A page shows what was recorded when the first was read: asked for again, all of them would be read in turn.
    staleTime: ({ state }) => (state.data === undefined ? 0 : "static"),
    // Nor is there a use in comparing them, or in keeping those of other filters.
    structuralSharing: false,
    gcTime: 0,
  });
}
