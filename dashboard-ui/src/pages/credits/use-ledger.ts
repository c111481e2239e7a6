import { useInfiniteQuery } from "@tanstack/react-query";
import { ledgerLines } from "./ledger-lines.ts";
import { ledgerQuery } from "./ledger-query.ts";

/** How many pages one press of a button may ask for. */
const MAX_PAGES = 10;

/** The ledger, newest first; its next page is all that it takes to see more lines. */
export function useLedger() {
  const { fetchNextPage, ...ledger } = useInfiniteQuery(ledgerQuery());
  const entries = ledger.data?.pages.flatMap((page) => page.entries) ?? [];
  const lines = ledgerLines(entries);

  const fetchMoreLines = async () => {
    let result = await fetchNextPage();
    // A page may hold nothing but further charges of the day that is the last line already.
    for (let pages = 1; pages < MAX_PAGES && result.hasNextPage && !result.isError; pages++) {
      const known = result.data?.pages.flatMap((page) => page.entries) ?? [];
      if (ledgerLines(known).length > lines.length) break;
      result = await fetchNextPage();
    }
    return result;
  };
  return { ...ledger, fetchNextPage: fetchMoreLines, lines };
}
