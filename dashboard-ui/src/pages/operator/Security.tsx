import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { errorTextAt } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { ExportButton } from "../../components/ExportButton.tsx";
import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { Select } from "../../components/Select.tsx";
import { TextField } from "../../components/TextField.tsx";
import consoleStyles from "./console.module.css";
import { exportSecurity } from "./exports.ts";
import { focusPage } from "./focus.ts";
import { securityQuery } from "./queries.ts";
import { readSecuritySearch } from "./search.ts";
import { AccountFilter } from "./security/AccountFilter.tsx";
import { SecurityTable } from "./security/SecurityTable.tsx";
import { SECURITY_KINDS } from "./security/security-labels.ts";

/** The refresh interval of the visible list. */
const LIVE_MS = 10_000;

/** The security events of the service. */
export function Security() {
  const wanted = useSearch({ from: "/shell/operator/operator/security" });
  const navigate = useNavigate({ from: "/operator/security" });
  const { accountId, source } = wanted;
  const kind = SECURITY_KINDS.find(({ value }) => value === wanted.kind)?.value;
  const narrow = (change: Readonly<Record<string, string>>) =>
    void navigate({ search: (before) => readSecuritySearch({ ...before, ...change }), replace: true });

  const showAllAccounts = () => {
    narrow({ accountId: "" });
    focusPage();
  };
  const showAll = () => {
    void navigate({ search: {} });
    focusPage();
  };
  const list = useInfiniteQuery({
    ...securityQuery(wanted),
    // The list is not refreshed once older pages are loaded, because rows would move.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : LIVE_MS),
  });
  const events = list.data?.pages.flatMap((page) => page.events) ?? [];
  // The error is shown at the field, where a retry is useless.
  const sourceError = errorTextAt(list.error, "source");
  const isNarrowed = kind !== undefined || accountId !== undefined || source !== undefined;

  return (
    <>
      <PageHead
        title="Security events"
        lead="Failed sign-ins, refused keys and sign-ins of operators, counted per hour, most recent first."
      >
        <ExportButton run={() => exportSecurity(wanted)} />
        <Button busy={list.isRefetching && !list.isFetchingNextPage} onClick={() => void list.refetch()}>
          Refresh
        </Button>
      </PageHead>
      <search className={consoleStyles.consoleFilters}>
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
            <Empty
              title={isNarrowed ? "No event matches" : "No security events"}
              art={isNarrowed ? "search" : "list"}
            >
              {isNarrowed ? (
                <Button onClick={showAll}>Show all events</Button>
              ) : (
                <p>Failed sign-ins, refused keys and sign-ins of operators appear here.</p>
              )}
            </Empty>
          ) : null}
          {events.length > 0 ? <SecurityTable events={events} busy={list.isPlaceholderData} /> : null}
        </Paged>
      ) : null}
    </>
  );
}
