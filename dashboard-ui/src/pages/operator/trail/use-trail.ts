import { useInfiniteQuery } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";

interface TrailOptions {
  /** Of one account, or of all. */
  readonly accountId?: string;
  readonly page: number;
}

/** What was changed, by whom, newest first. */
export function useTrail({ accountId, page }: TrailOptions) {
  const query = useInfiniteQuery(
    api.operator.audit.infiniteQueryOptions(
      { limit: page, ...(accountId === undefined ? {} : { accountId }) },
      {
        getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
        // Whoever comes here wants to see what has just been changed.
        staleTime: 0,
      },
    ),
  );
  return { query, actions: query.data?.pages.flatMap(({ actions }) => actions) ?? [] };
}
