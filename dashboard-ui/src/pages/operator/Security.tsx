import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { errorTextAt } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { Select } from "../../components/Select.tsx";
import { TextField } from "../../components/TextField.tsx";
import { focusPage } from "./focus.ts";
import { readSecuritySearch } from "./search.ts";
import { AccountFilter } from "./security/AccountFilter.tsx";
import { SecurityTable } from "./security/SecurityTable.tsx";
import { SECURITY_KINDS } from "./security/security-words.ts";

const PAGE = 50;
/** How often it is asked again while somebody looks at what was last seen. */
const LIVE_MS = 10_000;

/** What somebody did at the service's doors. */
export function Security() {
  const wanted = useSearch({ from: "/shell/operator/operator/security" });
  const navigate = useNavigate({ from: "/operator/security" });
  const { accountId, source } = wanted;
  const kind = SECURITY_KINDS.find(({ value }) => value === wanted.kind)?.value;
  const narrow = (change: Readonly<Record<string, string>>) =>
    void navigate({ search: (before) => readSecuritySearch({ ...before, ...change }) });

  const showAllAccounts = () => {
    narrow({ accountId: "" });
    focusPage();
  };
  const showAll = () => {
    void navigate({ search: {} });
    focusPage();
  };
  const list = useInfiniteQuery(
    api.operator.security.infiniteQueryOptions(
      {
        limit: PAGE,
        ...(kind === undefined ? {} : { kind }),
        ...(accountId === undefined ? {} : { accountId }),
        ...(source === undefined ? {} : { source }),
      },
      {
        getNextPageParam: (page) => page.nextCursor ?? undefined,
        placeholderData: keepPreviousData,
        staleTime: 0,
        // Whoever reads on in what is older is left to it.
        refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : LIVE_MS),
      },
    ),
  );
  const events = list.data?.pages.flatMap((page) => page.events) ?? [];
  // Stands at the field, and there is nothing to be tried again.
  const sourceError = errorTextAt(list.error, "source");
  const isNarrowed = kind !== undefined || accountId !== undefined || source !== undefined;

  return (
    <>
      <PageHead
        title="Security"
        lead="Who tried the doors: refused keys, failed sign-ins, refused credentials. Counted by the hour, last seen first."
      >
        <Button busy={list.isRefetching && !list.isFetchingNextPage} onClick={() => void list.refetch()}>
          Refresh
        </Button>
      </PageHead>
      <search className="console-filters">
        <Select
          label="Event"
          options={[{ value: "", label: "Any" }, ...SECURITY_KINDS]}
          value={kind ?? ""}
          onChange={(event) => narrow({ kind: event.target.value })}
        />
        <TextField
          label="Source IP or CIDR"
          placeholder="Any"
          value={source ?? ""}
          error={sourceError}
          onCommit={(text) => narrow({ source: text })}
        />
        {accountId === undefined ? null : <AccountFilter accountId={accountId} onClear={showAllAccounts} />}
      </search>
      {sourceError === undefined ? (
        <Paged query={list} what="events">
          {list.isSuccess && events.length === 0 ? (
            <Empty title={isNarrowed ? "No event matches" : "Nothing has happened yet"}>
              {isNarrowed ? (
                <Button onClick={showAll}>Show all events</Button>
              ) : (
                <p>Refused keys and failed sign-ins stand here as soon as there are any.</p>
              )}
            </Empty>
          ) : null}
          {events.length > 0 ? <SecurityTable events={events} busy={list.isPlaceholderData} /> : null}
        </Paged>
      ) : null}
    </>
  );
}
