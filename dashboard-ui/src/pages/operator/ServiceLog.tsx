import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { api } from "../../api/client.ts";
import { errorTextAt } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { ExportButton } from "../../components/ExportButton.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { TextField } from "../../components/TextField.tsx";
import auditStyles from "../audit/Audit.module.css";
import type { Column } from "../audit/columns.ts";
import { EntryList } from "../audit/entry-list.ts";
import { Filters } from "../audit/Filters.tsx";
import { LiveToggle } from "../audit/LiveToggle.tsx";
import { LogResults } from "../audit/LogResults.tsx";
import { LogSourceProvider } from "../audit/log-source.ts";
import { useEntries } from "../audit/use-entries.ts";
import { useFilters } from "../audit/use-filters.ts";
import { useIsReading } from "../audit/use-is-reading.ts";
import { useLogSearch } from "../audit/use-log-search.ts";
import { useOpenEntry } from "../audit/use-open-entry.ts";
import { useSummary } from "../audit/use-summary.ts";
import { AccountField } from "./log/AccountField.tsx";
import { exportLog } from "./log/export-log.ts";
import styles from "./log/ServiceLog.module.css";
import { SERVICE_LOG } from "./log/service-log.ts";
import { usePolling } from "./log/use-polling.ts";

const COLUMNS: readonly Column[] = ["account", "key", "upstream", "tokens", "cost", "latency"];

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
  const { changeFilters, showEntry, clearFilters, setLive, timesCleared } = useLogSearch(
    useNavigate({ from: "/operator/log" }),
  );
  const scroller = useRef<HTMLDivElement>(null);
  const { filters, refreshRange } = useFilters(search);
  const catalog = useQuery(api.operator.catalog.queryOptions());
  const { log, pages, reload, loadMore } = useEntries(filters);
  const isLive = search.live === true;
  const summary = useSummary(filters, isLive);
  const entries = useMemo(() => new EntryList([], pages), [pages]);
  const openEntry = useOpenEntry(search.entry, showEntry, entries, log.isPending);
  const isReading = useIsReading(scroller, search.entry !== undefined);
  const { state, total, fresh } = usePolling({ isOn: isLive, entries, error: log.error, isReading, reload });
  const refresh = () => {
    scroller.current?.scrollTo({ top: 0 });
    void summary.refetch();
    if (search.range === undefined) void reload();
    else refreshRange();
  };
  return (
    <div className={`${auditStyles.audit} ${styles.serviceLog}`}>
      <PageHead title="Request log" lead="Requests of all accounts, including refused ones.">
        <LiveToggle state={state} isOn={isLive} arrived={total} onChange={setLive} />
        <Button busy={!isLive && log.isRefetching && !log.isFetchingNextPage} onClick={refresh}>
          Refresh
        </Button>
        <ExportButton run={() => exportLog(filters)} />
      </PageHead>
      <Filters
        key={timesCleared}
        search={search}
        filters={filters}
        catalog={catalog}
        error={log.error}
        changeFilters={changeFilters}
        onFind={(entry) => showEntry(entry, false)}
        hasUpstream
      >
        <AccountField
          value={search.accountId ?? ""}
          error={errorTextAt(log.error, "accountId")}
          onCommit={(id) => changeFilters({ accountId: id === "" ? undefined : id })}
        />
        <TextField
          label="Key"
          placeholder="Last 4 characters or ID"
          value={search.key ?? ""}
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
        columns={COLUMNS}
        scroller={scroller}
        openEntry={openEntry}
        fresh={fresh}
        changeFilters={changeFilters}
        clearFilters={clearFilters}
        retry={() => void reload()}
        refresh={refresh}
      />
    </div>
  );
}
