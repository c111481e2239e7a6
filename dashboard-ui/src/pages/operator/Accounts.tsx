import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { ExportButton } from "../../components/ExportButton.tsx";
import { formatCounted } from "../../components/format.ts";
import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { SearchField } from "../../components/SearchField.tsx";
import { Select } from "../../components/Select.tsx";
import textStyles from "../../components/text.module.css";
import { Plus } from "../../icons/icons.ts";
import { AccountTable } from "./accounts/AccountTable.tsx";
import { CreateAccount } from "./accounts/CreateAccount.tsx";
import consoleStyles from "./console.module.css";
import { exportAccounts } from "./exports.ts";
import { focusPage } from "./focus.ts";
import { PLANS } from "./plans.ts";
import { accountsQuery } from "./queries.ts";
import { readAccountsSearch } from "./search.ts";

const ANY = { value: "", label: "Any" };
const STATES = [ANY, { value: "active", label: "Active" }, { value: "suspended", label: "Suspended" }];

/** The list of all accounts, with a search and a form to create one. */
export function Accounts() {
  const [isCreating, setCreating] = useState(false);
  const { search = "", state, plan, order } = useSearch({ from: "/shell/operator/operator" });
  const navigate = useNavigate({ from: "/operator" });
  const narrow = (change: Readonly<Record<string, string | undefined>>) =>
    void navigate({ search: (before) => readAccountsSearch({ ...before, ...change }), replace: true });

  const showAll = () => {
    void navigate({ search: {} });
    focusPage();
  };
  const list = useInfiniteQuery(accountsQuery({ search, state, plan, order }));
  const accounts = list.data?.pages.flatMap((page) => page.accounts) ?? [];
  const isNarrowed = search !== "" || state !== undefined || plan !== undefined;

  return (
    <>
      <PageHead
        title="Accounts"
        lead={
          order === undefined
            ? "Accounts of this service, newest first."
            : `The 50 accounts with the highest ${order === "cost" ? "cost" : "number of requests"} in 30 days first.`
        }
      >
        <ExportButton run={() => exportAccounts({ search, state, plan, order })} />
        <Button look="primary" icon={<Plus size={16} aria-hidden="true" />} onClick={() => setCreating(true)}>
          Create account
        </Button>
      </PageHead>
      <search className={consoleStyles.consoleFilters}>
        <SearchField
          label="Search"
          placeholder="Name, e-mail, ID or end of a key"
          value={search}
          onSearch={(text) => narrow({ search: text })}
        />
        <Select
          label="State"
          options={STATES}
          value={state ?? ""}
          onChange={(event) => narrow({ state: event.target.value })}
        />
        <Select
          label="Plan"
          options={[ANY, ...PLANS]}
          value={plan ?? ""}
          onChange={(event) => narrow({ plan: event.target.value })}
        />
      </search>
      <p className={textStyles.visuallyHidden} role="status">
        {list.isSuccess && !list.isPlaceholderData ? countOf(accounts.length, list.hasNextPage) : ""}
      </p>
      <Paged query={list} what="accounts">
        {list.isSuccess && accounts.length === 0 ? (
          <Empty
            title={isNarrowed ? "No account matches" : "No accounts yet"}
            art={isNarrowed ? "search" : "people"}
          >
            {isNarrowed ? (
              <Button onClick={showAll}>Show all accounts</Button>
            ) : (
              <p>Create one here, or let users sign up.</p>
            )}
          </Empty>
        ) : null}
        {accounts.length > 0 ? (
          <AccountTable
            accounts={accounts}
            busy={list.isPlaceholderData}
            order={order}
            onOrder={(next) => narrow({ order: next })}
          />
        ) : null}
      </Paged>
      {isCreating ? <CreateAccount onClose={() => setCreating(false)} /> : null}
    </>
  );
}

function countOf(count: number, isMore: boolean): string {
  return `${formatCounted(count, "account")} shown${isMore ? "; more are available" : ""}.`;
}
