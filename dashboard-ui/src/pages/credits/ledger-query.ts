import { api } from "../../api/client.ts";

/** The maximum page size of the service. */
const PAGE_SIZE = 200;

/** The ledger, newest first. */
export function ledgerQuery() {
  return api.credits.ledger.infiniteQueryOptions(
    { limit: PAGE_SIZE },
    { getNextPageParam: (page) => page.nextCursor ?? undefined },
  );
}
