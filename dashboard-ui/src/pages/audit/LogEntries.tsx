import { type ReactNode, type RefObject, useEffect } from "react";
import { errorFieldOf } from "../../api/errors.ts";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import { LoadError, Loading } from "../../components/Notice.tsx";
import styles from "./Audit.module.css";
import type { Column } from "./columns.ts";
import { EntryTable } from "./EntryTable.tsx";
import type { EntryList } from "./entry-list.ts";
import { type AuditFilters, type NamedKey, removalOf } from "./filters.ts";
import { ListEnd } from "./ListEnd.tsx";
import { FilterRefused, NoEntries } from "./NoEntries.tsx";
import type { AuditSearch } from "./search.ts";
import type { useEntries } from "./use-entries.ts";
import type { useOpenEntry } from "./use-open-entry.ts";

export const entryDetails = lazyCode(async () => (await import("./EntryDetails.tsx")).EntryDetails);

export interface LogEntriesProps extends Pick<ReturnType<typeof useEntries>, "log" | "loadMore"> {
  readonly entries: EntryList;
  readonly filters: AuditFilters;
  /** The key that is filtered by, if it is known. */
  readonly chosenKey?: NamedKey | undefined;
  readonly columns: readonly Column[];
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly openEntry: ReturnType<typeof useOpenEntry>;
  /** The number of first entries that have just arrived. */
  readonly fresh?: number;
  /** Whether entries are missing between those that are shown. */
  readonly isIncomplete?: boolean;
  readonly changeFilters: (change: AuditSearch) => void;
  readonly clearFilters: () => void;
  /** Reads the first entries again after an error. */
  readonly retry: () => void;
  /** Reads everything again. */
  readonly refresh: () => void;
  /** Called when the user has scrolled back to the first entry. */
  readonly onTop?: () => void;
  /** What stands above the entries. */
  readonly children?: ReactNode;
}

const NOTHING = () => undefined;

/** The entries of a log, or why there are none, and the details of the open one. */
export function LogEntries(props: LogEntriesProps) {
  const { log, entries, filters, scroller, changeFilters, clearFilters, retry, refresh, loadMore } = props;
  const { opened, open, close } = props.openEntry;
  const isRefused = errorFieldOf(log.error) !== null;
  const goBy = (step: number) => {
    const place = opened?.place == null ? null : opened.place + step;
    if (place === null || entries.at(entries.indexOf(place)) === undefined) return null;
    return () => open(place);
  };
  return (
    <>
      <div className={styles.entriesPlace}>
        {log.isPending ? <Loading what="entries" /> : null}
        {isRefused ? <FilterRefused /> : null}
        {log.isError && !isRefused && !log.isFetchNextPageError ? (
          <LoadError error={log.error} busy={log.isFetching} hasData={log.data !== undefined} retry={retry} />
        ) : null}
        {props.children}
        {(log.isSuccess || log.isFetchNextPageError) && entries.length === 0 && log.hasNextPage ? (
          <SearchOn log={log} loadMore={loadMore} />
        ) : null}
        {log.isSuccess && entries.length === 0 && !log.hasNextPage ? (
          <NoEntries
            filters={filters}
            chosenKey={props.chosenKey}
            remove={(name) => changeFilters(removalOf(name, filters))}
            clear={clearFilters}
          />
        ) : null}
        {entries.length > 0 ? (
          <EntryTable
            key={JSON.stringify(filters)}
            entries={entries}
            fresh={props.fresh ?? 0}
            hasMore={log.hasNextPage}
            openPlace={opened?.place ?? null}
            scroller={scroller}
            columns={props.columns}
            open={open}
            loadMore={loadMore}
            onTop={props.onTop ?? NOTHING}
          >
            <ListEnd
              log={log}
              count={entries.length}
              isIncomplete={props.isIncomplete ?? false}
              readAgain={refresh}
            />
          </EntryTable>
        ) : null}
      </div>
      {opened === null ? null : (
        <LazyDialog
          code={entryDetails}
          props={{
            opened,
            goNewer: goBy(-1),
            goOlder: goBy(1),
            finalFocus: () => scroller.current?.querySelector<HTMLElement>('[tabindex="0"]') ?? null,
            onClose: close,
          }}
        />
      )}
    </>
  );
}

/** Loads pages until one has entries: a search that takes long begins with pages without any. */
function SearchOn({ log, loadMore }: Pick<LogEntriesProps, "log" | "loadMore">) {
  useEffect(() => loadMore(), [loadMore]);
  return log.isFetchNextPageError ? (
    <LoadError error={log.error} busy={log.isFetching} retry={() => void log.fetchNextPage()} />
  ) : (
    <Loading what="entries" />
  );
}
