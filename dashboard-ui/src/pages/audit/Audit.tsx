import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { errorFieldOf, errorTextAt } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { formatCount } from "../../components/format.ts";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode, usePreload } from "../../components/lazy-code.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { searchList } from "../../components/SearchSelect.tsx";
import textStyles from "../../components/text.module.css";
import styles from "./Audit.module.css";
import { EntryList } from "./entry-list.ts";
import { Filters } from "./Filters.tsx";
import { KeyField } from "./KeyField.tsx";
import { LiveToggle } from "./LiveToggle.tsx";
import { entryDetails } from "./LogEntries.tsx";
import { LogResults } from "./LogResults.tsx";
import { aboveOf, gapsLeft } from "./live-entries.ts";
import { SavedViews } from "./SavedViews.tsx";
import type { TailState } from "./tail.ts";
import { useEntries } from "./use-entries.ts";
import { useFilterKey } from "./use-filter-key.ts";
import { useFilters } from "./use-filters.ts";
import { useIsReading } from "./use-is-reading.ts";
import { useLive } from "./use-live.ts";
import { useLogSearch } from "./use-log-search.ts";
import { useOpenEntry } from "./use-open-entry.ts";
import { useSummary } from "./use-summary.ts";
import { useView } from "./use-view.ts";

const viewDialog = lazyCode(async () => (await import("./ViewDialog.tsx")).ViewDialog);
// Few users export, so the dialog is loaded on demand.
const exportDialog = lazyCode(async () => (await import("./export/ExportDialog.tsx")).ExportDialog);

/** What is loaded when the page has been open for a while. */
const LATER = [entryDetails.preload, searchList.preload];

/** The record of every request made with the account's keys. */
export function Audit() {
  const search = useSearch({ from: "/shell/account/audit" });
  const { changeFilters, showEntry, clearFilters, setLive, timesCleared } = useLogSearch(
    useNavigate({ from: "/audit" }),
  );
  const [isViewing, setViewing] = useState(false);
  const { columns, setColumns, views, changeViews } = useView();
  const [isExporting, setExporting] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  usePreload(LATER);

  const { filters, refreshRange } = useFilters(search);
  const chosenKey = useFilterKey(search.key);
  const catalog = useQuery(api.models.list.queryOptions());
  const { log, pages, reload, loadMore } = useEntries(filters);
  const summary = useSummary(filters, search.live === true);
  const isRefused = errorFieldOf(log.error) !== null;

  const isOpen = search.entry !== undefined;
  const isReading = useIsReading(scroller, isOpen);
  const isFollowed = search.live === true && !isRefused;
  const { state, live, show, readAgain } = useLive({ isOn: isFollowed, filters, isReading, reload });

  const entries = useMemo(() => new EntryList(aboveOf(live, pages[0]?.entries ?? []), pages), [live, pages]);
  const openEntry = useOpenEntry(search.entry, showEntry, entries, log.isPending);
  useEffect(() => {
    if (!isOpen && !isReading()) show();
  }, [isOpen, isReading, show]);

  const toTop = () => scroller.current?.scrollTo({ top: 0 });
  const refresh = () => {
    toTop();
    void summary.refetch();
    if (search.range === undefined) void readAgain();
    else refreshRange();
  };
  const showWaiting = () => {
    toTop();
    show();
  };
  return (
    <div className={styles.audit}>
      <AuditHead
        state={state}
        isOn={search.live === true}
        setLive={setLive}
        arrived={live.arrived}
        isRefreshing={log.isRefetching && !log.isFetchingNextPage}
        refresh={refresh}
        openView={() => setViewing(true)}
        startExport={() => setExporting(true)}
      />
      <SavedViews views={views} search={search} />
      <Filters
        key={timesCleared}
        search={search}
        filters={filters}
        catalog={catalog}
        error={log.error}
        changeFilters={changeFilters}
        onFind={(entry) => showEntry(entry, false)}
      >
        <KeyField
          value={search.key ?? ""}
          chosen={chosenKey}
          error={errorTextAt(log.error, "key")}
          onCommit={(key) => changeFilters({ key: key === "" ? undefined : key })}
        />
      </Filters>
      <LogResults
        summary={summary}
        search={search}
        log={log}
        loadMore={loadMore}
        entries={entries}
        filters={filters}
        chosenKey={chosenKey}
        columns={columns}
        scroller={scroller}
        openEntry={openEntry}
        fresh={live.fresh}
        isIncomplete={gapsLeft(live) > 0}
        changeFilters={changeFilters}
        clearFilters={clearFilters}
        retry={() => void readAgain()}
        refresh={refresh}
        onTop={show}
      >
        {live.notice === null ? null : <p className={textStyles.small}>{live.notice}</p>}
        <NewEntries count={live.waiting} show={showWaiting} />
      </LogResults>
      {isViewing ? (
        <LazyDialog
          code={viewDialog}
          props={{ columns, setColumns, views, changeViews, search, onClose: () => setViewing(false) }}
        />
      ) : null}
      {isExporting ? (
        <LazyDialog
          code={exportDialog}
          props={{ filters, chosenKey, clearFilters, onClose: () => setExporting(false) }}
        />
      ) : null}
    </div>
  );
}

interface AuditHeadProps {
  readonly state: TailState | null;
  readonly isOn: boolean;
  readonly setLive: (isOn: boolean) => void;
  readonly arrived: number;
  readonly isRefreshing: boolean;
  readonly refresh: () => void;
  readonly openView: () => void;
  readonly startExport: () => void;
}

function AuditHead(props: AuditHeadProps) {
  const { state, isOn, setLive, arrived, isRefreshing, refresh, openView, startExport } = props;
  return (
    <PageHead title="Request log" lead="Every request made with this account's keys, including refused ones.">
      <LiveToggle state={state} isOn={isOn} arrived={arrived} onChange={setLive} />
      <Button busy={isRefreshing} onClick={refresh}>
        Refresh
      </Button>
      <Button onClick={openView}>View</Button>
      <Button onClick={startExport}>Export</Button>
    </PageHead>
  );
}

/** A button that shows new entries, which wait while the user has scrolled away. */
function NewEntries({ count, show }: { readonly count: number; readonly show: () => void }) {
  if (count === 0) return null;
  return (
    <div className={styles.entriesNew}>
      <Button look="primary" onClick={show}>
        {formatCount(count)} new
      </Button>
    </div>
  );
}
