import { redirect } from "@tanstack/react-router";
import { api, queryClient } from "./api/client.ts";

interface LoadableQuery {
  readonly queryKey: readonly unknown[];
}

/** How long a page waits for its data before it opens with what has loaded: shorter than the router's wait before it shows a skeleton. */
const MAX_WAIT_MS = 300;

/**
 * Loads the data that a page shows first, while the page's code loads; the page reads it from the cache. Cached data is shown at once and
 * refreshed. A query that fails does not fail the route: the page shows the error beside the data that loaded. Nor does a slow query hold
 * it up, and with it the navigation: each part of the page then shows that it is being loaded.
 */
export async function load(...queries: readonly LoadableQuery[]): Promise<void> {
  const loading = queries.map((query) => {
    // The types of a query are known where it is created; this function needs only its kind.
    const options = { ...query, revalidateIfStale: true };
    return "getNextPageParam" in query
      ? queryClient.ensureInfiniteQueryData(options as never)
      : queryClient.ensureQueryData(options as never);
  });
  await briefly(Promise.allSettled(loading));
}

/** Resolves with the promise, or when a page has waited long enough for its data. */
export async function briefly(loading: Promise<unknown>): Promise<void> {
  await Promise.race([loading, new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS))]);
}

/** The signed-in user. @throws a redirect to the sign-in page when no user is signed in. */
export async function requireSession(href: string) {
  // The account may have been suspended in the meantime: cached data is shown and refreshed.
  const me = await queryClient.ensureQueryData({ ...api.auth.me.queryOptions(), revalidateIfStale: true });
  if (me !== null) {
    // The reason is part of the line above every page, which would grow with it.
    if (me.account?.state === "suspended") await load(api.account.get.queryOptions());
    return { role: me.user.role };
  }
  queryClient.removeQueries({ queryKey: api.auth.me.queryKey() });
  throw redirect({ to: "/sign-in", search: { to: href } });
}
