import { useInfiniteQuery } from "@tanstack/react-query";
import { ledgerLines } from "./ledger-lines.ts";
import { ledgerQuery } from "./ledger-query.ts";

/** The maximum number of pages to fetch for one press of a button. */
const MAX_PAGES = 10;

/** The ledger, newest first. Loading the next page continues until a new line appears. */
export function useLedger() {
  const { fetchNextPage, ...ledger } = useInfiniteQuery(ledgerQuery());
  const entries = ledger.data?.pages.flatMap((page) => page.entries) ?? [];
  const lines = ledgerLines(entries);

  const fetchMoreLines = async () => {
    let result = await fetchNextPage();
    // A page may contain only further charges of the day that is already the last line.
    for (let pages = 1; pages < MAX_PAGES && result.hasNextPage && !result.isError; pages++) {
      const known = result.data?.pages.flatMap((page) => page.entries) ?? [];
      if (ledgerLines(known).length > lines.length) break;
      result = await fetchNextPage();
    }
    return result;
  };
  return { ...ledger, fetchNextPage: fetchMoreLines, lines };
}
