import textStyles from "../../components/text.module.css";
import { countText } from "./count-text.ts";
import { LogEntries, type LogEntriesProps } from "./LogEntries.tsx";
import { LogTotals } from "./LogTotals.tsx";
import type { AuditSearch } from "./search.ts";
import type { useSummary } from "./use-summary.ts";

interface LogResultsProps extends LogEntriesProps {
  readonly summary: ReturnType<typeof useSummary>;
  readonly search: AuditSearch;
}

/** What a log has for its filters: the totals, and the entries. Screen readers announce how many entries were found. */
export function LogResults({ summary, search, ...entries }: LogResultsProps) {
  const { log, changeFilters, clearFilters } = entries;
  return (
    <>
      <LogTotals
        query={summary}
        hasOtherError={log.isError && !log.isFetchNextPageError}
        search={search}
        changeFilters={changeFilters}
        clearFilters={clearFilters}
      />
      <p className={textStyles.visuallyHidden} role="status">
        {countText(log.data?.pages[0])}
      </p>
      <LogEntries {...entries} />
    </>
  );
}
