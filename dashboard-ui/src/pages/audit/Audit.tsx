import { useQuery } from "@tanstack/react-query";
import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { connection } from "../../api/connection.ts";
import { errorFieldOf } from "../../api/errors.ts";
import { formatCount } from "../../api/format.ts";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Empty, LoadError, Loading } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { EntryDetails } from "./EntryDetails.tsx";
import { EntryTable } from "./EntryTable.tsx";
import { EntryList } from "./entry-list.ts";
import { Filters } from "./Filters.tsx";
import { countFilters } from "./filters.ts";
import { ListEnd } from "./ListEnd.tsx";
import { LiveToggle } from "./LiveToggle.tsx";
import { aboveOf } from "./live-entries.ts";
import { NO_FILTERS } from "./search.ts";
import { useEntries } from "./use-entries.ts";
import { useFilters } from "./use-filters.ts";
import { useLive } from "./use-live.ts";
import "./audit.css";

const ExportDialog = lazy(async () => {
  const { ExportDialog } = await import("./export/ExportDialog.tsx");
  return { default: ExportDialog };
});

const NO_KEYS: readonly ListedKey[] = [];

/** The record of every request made with the account's keys. */
export function Audit() {
  const search = useSearch({ from: "/shell/account/audit" });
  const navigate = useNavigate({ from: "/audit" });
  const { history } = useRouter();
  const [isExporting, setExporting] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);

  const { filters, refreshRange } = useFilters(search);
  const keys = useQuery(api.keys.list.queryOptions()).data?.keys ?? NO_KEYS;
  const { log, reload } = useEntries(filters);
  const isRefused = errorFieldOf(log.error) !== null;

  // Whoever has scrolled away from the top, or looks at one entry, reads.
  const isEntryOpen = useRef(false);
  const isReading = useCallback(() => isEntryOpen.current || (scroller.current?.scrollTop ?? 0) > 0, []);
  const isFollowed = search.live === true && !isRefused;
  const { state, live, show, readAgain } = useLive({ isOn: isFollowed, filters, isReading, reload });

  const pages = log.data?.pages;
  const entries = useMemo(
    () => new EntryList(aboveOf(live, pages?.[0]?.entries ?? []), pages ?? []),
    [live, pages],
  );

  const openPlace = useMemo(
    () => (search.entry === undefined ? null : entries.find(search.entry)),
    [entries, search.entry],
  );
  const linked = useQuery(
    api.audit.get.queryOptions(
      { requestId: search.entry ?? "" },
      { enabled: search.entry !== undefined && openPlace === null && !log.isPending },
    ),
  );
  const wasOpenedHere = useRef(false);
  const open = useCallback(
    (place: number) => {
      const entry = entries.at(entries.indexOf(place))?.requestId;
      // Going back closes it; from one to the next is no step that anybody wants to go back.
      const replace = isEntryOpen.current;
      if (!replace) wasOpenedHere.current = true;
      void navigate({ search: (now) => ({ ...now, entry }), replace });
    },
    [entries, navigate],
  );
  const close = () => {
    if (wasOpenedHere.current) history.back();
    else void navigate({ search: (now) => ({ ...now, entry: undefined }), replace: true });
  };
  useEffect(() => {
    isEntryOpen.current = search.entry !== undefined;
    if (search.entry !== undefined) return;
    wasOpenedHere.current = false;
    if (!isReading()) show();
  }, [search.entry, isReading, show]);

  const { fetchNextPage, isFetchNextPageError } = log;
  const mayLoadMore = log.hasNextPage && !log.isFetching && !isFetchNextPageError;
  const loadMore = useCallback(() => {
    if (mayLoadMore) void fetchNextPage();
  }, [mayLoadMore, fetchNextPage]);
  useEffect(() => {
    if (!isFetchNextPageError) return;
    return connection.subscribe(() => {
      if (!connection.isLost()) void fetchNextPage();
    });
  }, [isFetchNextPageError, fetchNextPage]);

  const toTop = () => scroller.current?.scrollTo({ top: 0 });
  const refresh = () => {
    toTop();
    if (search.range === undefined) void readAgain();
    else refreshRange();
  };
  const showWaiting = () => {
    toTop();
    show();
  };
  const goBy = (step: number) => {
    const place = openPlace === null ? null : openPlace + step;
    if (place === null || entries.at(entries.indexOf(place)) === undefined) return null;
    return () => open(place);
  };

  const first = pages?.[0];
  const found =
    first === undefined
      ? ""
      : first.nextCursor === null
        ? `${formatCount(first.entries.length)} ${first.entries.length === 1 ? "entry" : "entries"}`
        : `More than ${formatCount(first.entries.length)} entries`;

  return (
    <div className="audit">
      <PageHead title="Audit log" lead="Every request made with a key of the account, refused ones included.">
        <LiveToggle
          state={state}
          isOn={search.live === true}
          arrived={live.arrived}
          onChange={(isOn) =>
            void navigate({ search: (now) => ({ ...now, live: isOn ? true : undefined }), replace: true })
          }
        />
        <Button busy={log.isRefetching && !log.isFetchingNextPage} onClick={refresh}>
          Refresh
        </Button>
        <Button onClick={() => setExporting(true)}>Export</Button>
      </PageHead>
      <Filters search={search} keys={keys} error={log.error} />
      <p className="visually-hidden" role="status">
        {found}
      </p>
      <div className="entries-place">
        {log.isPending ? <Loading what="entries" /> : null}
        {isRefused ? (
          <Empty title="A filter can't be used">
            <p>What is wrong with it is told at its field.</p>
          </Empty>
        ) : log.isError && !isFetchNextPageError ? (
          <LoadError error={log.error} busy={log.isFetching} retry={() => void readAgain()} />
        ) : null}
        {live.told === null ? null : <p className="small">{live.told}</p>}
        {live.waiting > 0 ? (
          <div className="entries-new">
            <Button look="primary" onClick={showWaiting}>
              {formatCount(live.waiting)} new
            </Button>
          </div>
        ) : null}
        {log.isSuccess && entries.length === 0 ? (
          countFilters(search) === 0 ? (
            <Empty title="No requests yet">
              <p>As soon as one of the account's keys is used, the request stands here.</p>
            </Empty>
          ) : (
            <Empty title="No entry matches">
              <p>
                <Button onClick={() => void navigate({ search: (now) => ({ ...now, ...NO_FILTERS }) })}>
                  Clear filters
                </Button>
              </p>
            </Empty>
          )
        ) : null}
        {entries.length > 0 ? (
          <EntryTable
            key={JSON.stringify(filters)}
            entries={entries}
            fresh={live.fresh}
            hasMore={log.hasNextPage}
            openPlace={openPlace}
            scroller={scroller}
            open={open}
            loadMore={loadMore}
            onTop={show}
          >
            <ListEnd log={log} count={entries.length} />
          </EntryTable>
        ) : null}
      </div>

      {search.entry === undefined ? null : (
        <EntryDetails
          entry={openPlace === null ? linked.data : entries.at(entries.indexOf(openPlace))}
          error={linked.error}
          isFetching={linked.isFetching}
          retry={() => void linked.refetch()}
          goNewer={goBy(-1)}
          goOlder={goBy(1)}
          finalFocus={() => scroller.current?.querySelector<HTMLElement>('[tabindex="0"]') ?? null}
          onClose={close}
        />
      )}
      {isExporting ? (
        <Suspense>
          <ExportDialog filters={filters} keys={keys} onClose={() => setExporting(false)} />
        </Suspense>
      ) : null}
    </div>
  );
}
