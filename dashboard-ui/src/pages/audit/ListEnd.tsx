import { Button } from "../../components/Button.tsx";
import { formatCount, formatCounted } from "../../components/format.ts";
import { LoadError, Loading } from "../../components/Notice.tsx";
import textStyles from "../../components/text.module.css";
import entryFrameStyles from "./EntryFrame.module.css";
import { MAX_ENTRIES } from "./use-entries.ts";

interface ListEndProps {
  /** The part of the query that the end of the list uses. */
  readonly log: {
    readonly isFetchingNextPage: boolean;
    readonly isFetchNextPageError: boolean;
    readonly hasNextPage: boolean;
    readonly error: unknown;
    fetchNextPage(): Promise<unknown>;
  };
  readonly count: number;
  /** Whether the log has entries that are missing in the list, which must be read again to show them. */
  readonly isIncomplete: boolean;
  readonly readAgain: () => void;
}

/** The end of the list: loading, an error, or no more entries. */
export function ListEnd({ log, count, isIncomplete, readAgain }: ListEndProps) {
  if (log.isFetchNextPageError) {
    return (
      <div className={entryFrameStyles.end}>
        <LoadError error={log.error} busy={log.isFetchingNextPage} retry={() => void log.fetchNextPage()} />
      </div>
    );
  }
  if (isIncomplete && !log.hasNextPage) {
    return (
      <div className={entryFrameStyles.end}>
        <Button onClick={readAgain}>Load new entries</Button>
      </div>
    );
  }
  return (
    <div className={entryFrameStyles.end}>
      {log.isFetchingNextPage ? (
        <Loading what="more entries" isLine />
      ) : log.hasNextPage ? null : (
        <p className={textStyles.small}>
          {count < MAX_ENTRIES
            ? `${formatCounted(count, "entry", "entries")} in total.`
            : `Showing the newest ${formatCount(count)} entries. To see older ones, choose a narrower time or export.`}
        </p>
      )}
    </div>
  );
}
