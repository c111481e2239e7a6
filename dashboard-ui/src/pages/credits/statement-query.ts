import { api } from "../../api/client.ts";

const PAGE_SIZE = 100;

/** The account's statement, newest first. Its sums are complete, because the service adds them up. */
export function statementQuery() {
  return api.credits.statement.infiniteQueryOptions(
    { limit: PAGE_SIZE },
    { getNextPageParam: (page) => page.nextCursor ?? undefined },
  );
}
