import { redirect } from "@tanstack/react-router";
import { api, queryClient } from "./api/client.ts";

interface LoadableQuery {
  readonly queryKey: readonly unknown[];
}

/**
 * Loads what a page shows first, while its code is loading; the page reads it from the cache. Cached data is shown at once and
 * refreshed. A query that fails does not fail the route: the page shows the error beside what did load.
 */
export async function load(...queries: readonly LoadableQuery[]): Promise<void> {
  const loading = queries.map((query) => {
    // The types of a query are known where it is made; here only its kind matters.
    const options = { ...query, revalidateIfStale: true };
    return "getNextPageParam" in query
      ? queryClient.ensureInfiniteQueryData(options as never)
      : queryClient.ensureQueryData(options as never);
  });
  await Promise.allSettled(loading);
}

/** Who is signed in. @throws a redirect to the sign-in page when nobody is. */
export async function requireSession(href: string) {
  // The account may have been suspended since: cached data is shown and refreshed.
  const me = await queryClient.ensureQueryData({ ...api.auth.me.queryOptions(), revalidateIfStale: true });
  if (me !== null) return { role: me.user.role };
  queryClient.removeQueries({ queryKey: api.auth.me.queryKey() });
  throw redirect({ to: "/sign-in", search: { to: href } });
}

/** A path of this dashboard. Links to other sites are dropped, so that signing in can't lead to them. */
export function ownPath(value: unknown): string | undefined {
  return typeof value === "string" && /^\/(?![/\\])/.test(value) ? value : undefined;
}
