import { Button } from "../../components/Button.tsx";
import { formatCount } from "../../components/format.ts";
import { LoadError, Loading } from "../../components/Notice.tsx";
import textStyles from "../../components/text.module.css";
import entryTableStyles from "./EntryTable.module.css";
import { MAX_ENTRIES } from "./use-entries.ts";

interface ListEndProps {
  /** What it needs of the query. */
  readonly log: {
    readonly isFetchingNextPage: boolean;
    readonly isFetchNextPageError: boolean;
    readonly hasNextPage: boolean;
    readonly error: unknown;
    fetchNextPage(): Promise<unknown>;
  };
  readonly count: number;
  /** Whether there are more than are listed, for whom the list has to be read again. */
  readonly isIncomplete: boolean;
  readonly readAgain: () => void;
}

/** Below the last row: that more are on their way, why they are not, or that there are no more. */
export function ListEnd({ log, count, isIncomplete, readAgain }: ListEndProps) {
  if (log.isFetchNextPageError) {
    return (
      <div className={entryTableStyles.entriesEnd}>
        <LoadError error={log.error} busy={log.isFetchingNextPage} retry={() => void log.fetchNextPage()} />
      </div>
    );
  }
  if (isIncomplete && !log.hasNextPage) {
    return (
      <div className={entryTableStyles.entriesEnd}>
        <Button onClick={readAgain}>Load new entries</Button>
      </div>
    );
  }
  return (
    <div className={entryTableStyles.entriesEnd}>
      {log.isFetchingNextPage ? (
        <Loading what="more entries" />
      ) : log.hasNextPage ? null : (
        <p className={textStyles.small}>
          {count < MAX_ENTRIES
            ? `${formatCount(count)} ${count === 1 ? "entry" : "entries"} in total.`
            : `Showing the newest ${formatCount(count)} entries. To see older ones, choose a narrower time or export.`}
        </p>
      )}
    </div>
  );
}
