import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { ListedAccount } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { ExportButton } from "../../components/ExportButton.tsx";
import { formatCount, formatCounted } from "../../components/format.ts";
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
import { type AccountOrder, readAccountsSearch } from "./search.ts";

const ANY = { value: "", label: "Any" };
const STATES = [ANY, { value: "active", label: "Active" }, { value: "suspended", label: "Suspended" }];

/** Which accounts are first, descending and ascending. */
const FIRST: Readonly<Record<AccountOrder | "created", readonly [string, string]>> = {
  created: ["newest", "oldest"],
  balance: ["highest balance", "lowest balance"],
  cost: ["highest cost in 30 days", "lowest cost in 30 days"],
  requests: ["most requests in 30 days", "fewest requests in 30 days"],
};

/** The list of all accounts, with a search and a form to create one. */
export function Accounts() {
  const [isCreating, setCreating] = useState(false);
  const wanted = useSearch({ from: "/shell/operator/operator" });
  const { search = "", state, plan, order, ascending } = wanted;
  const navigate = useNavigate({ from: "/operator" });
  const narrow = (change: Readonly<Record<string, string | true | undefined>>) =>
    void navigate({ search: (before) => readAccountsSearch({ ...before, ...change }), replace: true });

  const showAll = () => {
    void navigate({ search: {} });
    focusPage();
  };
  const list = useInfiniteQuery(accountsQuery(wanted));
  const accounts = distinct(list.data?.pages.flatMap((page) => page.accounts) ?? []);
  const total = list.isPlaceholderData ? undefined : list.data?.pages[0]?.total;
  const isNarrowed = search !== "" || state !== undefined || plan !== undefined;

  return (
    <>
      <PageHead
        title="Accounts"
        lead={`${countText(total, isNarrowed)}, ${FIRST[order ?? "created"][ascending === true ? 1 : 0]} first.`}
      >
        <ExportButton run={() => exportAccounts(wanted)} />
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
        {total == null ? "" : `${formatCount(accounts.length)} of ${formatCounted(total, "account")} shown.`}
      </p>
      <Paged
        query={list}
        what="accounts"
        shown={total == null ? undefined : `${formatCount(accounts.length)} of ${formatCount(total)} shown`}
      >
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
          <AccountTable accounts={accounts} busy={list.isPlaceholderData} sort={wanted} onSort={narrow} />
        ) : null}
      </Paged>
      {isCreating ? <CreateAccount onClose={() => setCreating(false)} /> : null}
    </>
  );
}

function countText(total: number | null | undefined, isNarrowed: boolean): string {
  if (total == null) return "Accounts";
  return `${formatCounted(total, "account")}${isNarrowed ? (total === 1 ? " matches" : " match") : ""}`;
}

/** The accounts, each once: one whose figures have changed may be on two pages. */
function distinct(accounts: readonly ListedAccount[]): readonly ListedAccount[] {
  return [...new Map(accounts.map((account) => [account.id, account])).values()];
}
