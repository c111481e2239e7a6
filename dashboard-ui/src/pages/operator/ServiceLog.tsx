import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { errorFieldOf, errorTextAt } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import { LoadError, Loading } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { TextField } from "../../components/TextField.tsx";
import textStyles from "../../components/text.module.css";
import auditStyles from "../audit/Audit.module.css";
import type { Column } from "../audit/columns.ts";
import { countText } from "../audit/count-text.ts";
import { EntryTable } from "../audit/EntryTable.tsx";
import { EntryList, type EntryPage } from "../audit/entry-list.ts";
import { Filters } from "../audit/Filters.tsx";
import { countFilters } from "../audit/filters.ts";
import { ListEnd } from "../audit/ListEnd.tsx";
import { LogTotals } from "../audit/LogTotals.tsx";
import { LogSourceProvider } from "../audit/log-source.ts";
import { FilterRefused, NoEntries } from "../audit/NoEntries.tsx";
import { type AuditSearch, NO_FILTERS } from "../audit/search.ts";
import { useEntries } from "../audit/use-entries.ts";
import { useFilters } from "../audit/use-filters.ts";
import { useOpenEntry } from "../audit/use-open-entry.ts";
import { useSummary } from "../audit/use-summary.ts";
import { AccountField } from "./log/AccountField.tsx";
import styles from "./log/ServiceLog.module.css";
import { SERVICE_LOG } from "./log/service-log.ts";

const entryDetails = lazyCode(async () => (await import("../audit/EntryDetails.tsx")).EntryDetails);

const COLUMNS: readonly Column[] = ["account", "key", "upstream", "tokens", "cost", "latency"];
const NO_PAGES: readonly EntryPage[] = [];
const ON_TOP = () => undefined;

/** The requests of all accounts. */
export function ServiceLog() {
  return (
    <LogSourceProvider value={SERVICE_LOG}>
      <Log />
    </LogSourceProvider>
  );
}

function Log() {
  const search = useSearch({ from: "/shell/operator/operator/log" });
  const navigate = useNavigate({ from: "/operator/log" });
  const scroller = useRef<HTMLDivElement>(null);
  const { filters, refreshRange } = useFilters(search);
  const knownModels = useKnownModels();
  const put = (change: AuditSearch) =>
    void navigate({ search: (now) => ({ ...now, ...change, entry: undefined }) });
  const putEntry = useCallback(
    (entry: string | undefined, isReplaced: boolean) =>
      void navigate({ search: (now) => ({ ...now, entry }), replace: isReplaced }),
    [navigate],
  );
  // The fields begin anew, also those that hold what the address does not.
  const [cleared, setCleared] = useState(0);
  const clearFilters = () => {
    setCleared(cleared + 1);
    put(NO_FILTERS);
  };
  const { log, reload, loadMore } = useEntries(filters);
  const summary = useSummary(filters, false);
  const isRefused = errorFieldOf(log.error) !== null;
  const pages = log.data?.pages ?? NO_PAGES;
  const entries = useMemo(() => new EntryList([], pages), [pages]);
  const { opened, open, close } = useOpenEntry(search.entry, putEntry, entries, log.isPending);
  const refresh = () => {
    scroller.current?.scrollTo({ top: 0 });
    void summary.refetch();
    if (search.range === undefined) void reload();
    else refreshRange();
  };
  const goBy = (step: number) => {
    const place = opened?.place == null ? null : opened.place + step;
    if (place === null || entries.at(entries.indexOf(place)) === undefined) return null;
    return () => open(place);
  };
  return (
    <div className={`${auditStyles.audit} ${styles.serviceLog}`}>
      <PageHead title="Request log" lead="Requests of all accounts, including refused ones.">
        <Button busy={log.isRefetching && !log.isFetchingNextPage} onClick={refresh}>
          Refresh
        </Button>
      </PageHead>
      <Filters
        key={cleared}
        search={search}
        filters={filters}
        knownModels={knownModels}
        error={log.error}
        put={put}
        onFind={(entry) => putEntry(entry, false)}
        hasUpstream
      >
        <AccountField
          value={search.accountId ?? ""}
          error={errorTextAt(log.error, "accountId")}
          onCommit={(id) => put({ accountId: id === "" ? undefined : id })}
        />
        <TextField
          label="Key"
          placeholder="Last 4 characters, or id"
          value={search.key ?? ""}
          error={errorTextAt(log.error, "key")}
          onCommit={(key) => put({ key: key === "" ? undefined : key.replace(/^…/, "") })}
        />
      </Filters>
      <LogTotals
        summary={summary.data}
        clearFilters={countFilters(search) === 0 ? null : clearFilters}
        isErrorsOnly={search.status === "error"}
        onErrorsOnly={(isOn) => put({ status: isOn ? "error" : undefined })}
        onPeriod={(from, to) => put({ from: from.toISOString(), to: to.toISOString(), range: undefined })}
      />
      <p className={textStyles.visuallyHidden} role="status">
        {countText(log.data?.pages[0])}
      </p>
      <div className={auditStyles.entriesPlace}>
        {log.isPending ? <Loading what="entries" /> : null}
        {isRefused ? <FilterRefused /> : null}
        {log.isError && !isRefused && !log.isFetchNextPageError ? (
          <LoadError error={log.error} busy={log.isFetching} retry={() => void reload()} />
        ) : null}
        {log.isSuccess && entries.length === 0 ? (
          <NoEntries
            filters={filters}
            chosenKey={undefined}
            remove={(name) => put({ [name]: undefined, ...(name === "from" ? { range: undefined } : {}) })}
            clear={clearFilters}
          />
        ) : null}
        {entries.length > 0 ? (
          <EntryTable
            key={JSON.stringify(filters)}
            entries={entries}
            fresh={0}
            hasMore={log.hasNextPage}
            openPlace={opened?.place ?? null}
            scroller={scroller}
            columns={COLUMNS}
            open={open}
            loadMore={loadMore}
            onTop={ON_TOP}
          >
            <ListEnd log={log} count={entries.length} isIncomplete={false} readAgain={refresh} />
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
    </div>
  );
}

/** The models of the catalog. */
function useKnownModels(): readonly string[] {
  const models = useQuery(api.operator.catalog.queryOptions()).data?.models;
  return useMemo(() => models?.map(({ id }) => id) ?? [], [models]);
}
