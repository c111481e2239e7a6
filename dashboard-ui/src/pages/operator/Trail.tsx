import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { errorTextAt } from "../../api/errors.ts";
import { ACTION_LABELS } from "../../components/action-labels.ts";
import { Button } from "../../components/Button.tsx";
import { ExportButton } from "../../components/ExportButton.tsx";
import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { SearchField } from "../../components/SearchField.tsx";
import { Select } from "../../components/Select.tsx";
import { TextField } from "../../components/TextField.tsx";
import consoleStyles from "./console.module.css";
import { exportTrail } from "./exports.ts";
import { focusPage } from "./focus.ts";
import { SERVICE_TRAIL_SIZE, trailQuery } from "./queries.ts";
import { readTrailSearch } from "./search.ts";
import { AccountFilter } from "./security/AccountFilter.tsx";
import { ActionTable } from "./trail/ActionTable.tsx";

const ACTIONS = [
  { value: "", label: "Any" },
  ...Object.entries(ACTION_LABELS).map(([value, label]) => ({ value, label })),
];

/** The changes in all accounts. */
export function Trail() {
  const wanted = useSearch({ from: "/shell/operator/operator/trail" });
  const navigate = useNavigate({ from: "/operator/trail" });
  const narrow = (change: Readonly<Record<string, string>>) =>
    void navigate({ search: (before) => readTrailSearch({ ...before, ...change }), replace: true });
  const showAll = () => {
    void navigate({ search: {} });
    focusPage();
  };
  const query = useInfiniteQuery(trailQuery({ ...wanted, pageSize: SERVICE_TRAIL_SIZE }));
  const actions = query.data?.pages.flatMap((page) => page.actions) ?? [];
  const isNarrowed = Object.values(wanted).some((value) => value !== undefined);
  // The error is shown at the field, where a retry is useless.
  const sourceError = errorTextAt(query.error, "source");
  return (
    <>
      <PageHead title="Audit trail" lead="Every change to accounts, keys and users, newest first.">
        <ExportButton run={() => exportTrail(wanted)} />
        <Button busy={query.isRefetching && !query.isFetchingNextPage} onClick={() => void query.refetch()}>
          Refresh
        </Button>
      </PageHead>
      <search className={consoleStyles.consoleFilters}>
        <SearchField
          label="Search"
          placeholder="Reason or account"
          value={wanted.search ?? ""}
          onSearch={(text) => narrow({ search: text })}
        />
        <Select
          label="Change"
          options={ACTIONS}
          value={wanted.action ?? ""}
          onChange={(event) => narrow({ action: event.target.value })}
        />
        <TextField
          label="Author"
          placeholder="E-mail"
          value={wanted.author ?? ""}
          onCommit={(text) => narrow({ author: text })}
        />
        <TextField
          label="Source IP or CIDR"
          placeholder="Any"
          value={wanted.source ?? ""}
          error={sourceError}
          onCommit={(text) => narrow({ source: text })}
        />
        {wanted.accountId === undefined ? null : (
          <AccountFilter accountId={wanted.accountId} onClear={() => narrow({ accountId: "" })} />
        )}
      </search>
      {sourceError === undefined ? (
        <Paged query={query} what="changes">
          {query.isSuccess && actions.length === 0 ? (
            <Empty
              title={isNarrowed ? "No change matches" : "No changes yet"}
              art={isNarrowed ? "search" : "list"}
            >
              {isNarrowed ? (
                <Button onClick={showAll}>Show all changes</Button>
              ) : (
                <p>Sign-ups and changes appear here.</p>
              )}
            </Empty>
          ) : null}
          {actions.length > 0 ? (
            <ActionTable actions={actions} of="service" busy={query.isPlaceholderData} />
          ) : null}
        </Paged>
      ) : null}
    </>
  );
}
