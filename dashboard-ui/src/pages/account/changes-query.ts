import { api } from "../../api/client.ts";

const PAGE_SIZE = 10;

/** Changes of the account, newest first. */
export function changesQuery() {
  return api.account.actions.infiniteQueryOptions(
    { limit: PAGE_SIZE },
    { getNextPageParam: (page) => page.nextCursor ?? undefined },
  );
}
