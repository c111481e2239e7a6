import printStyles from "../../components/print.module.css";
import textStyles from "../../components/text.module.css";
import { countText } from "./count-text.ts";
import { filterParts } from "./filters.ts";
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
  const { log, filters, chosenKey, changeFilters, clearFilters } = entries;
  const parts = filterParts(filters, chosenKey);
  return (
    <>
      {parts.length === 0 ? null : (
        <p className={printStyles.onPaper}>Filters: {parts.map(({ label }) => label).join(", ")}.</p>
      )}
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
