import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { AccountDetails } from "../../api/types.ts";
import { Loaded } from "../../components/Loaded.tsx";
import { Empty } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import styles from "./AccountPage.module.css";
import { AccountActions } from "./account/AccountActions.tsx";
import { AccountKeys } from "./account/AccountKeys.tsx";
import { AccountLog } from "./account/AccountLog.tsx";
import { AccountTrail } from "./account/AccountTrail.tsx";
import { AccountUsage } from "./account/AccountUsage.tsx";
import { CreditHistory } from "./account/CreditHistory.tsx";
import { IpRules } from "./account/IpRules.tsx";
import { Limits } from "./account/Limits.tsx";
import { Overview } from "./account/Overview.tsx";
import { Summary } from "./account/Summary.tsx";
import consoleStyles from "./console.module.css";
import { ACCOUNT_TABS, type AccountTab } from "./search-account.ts";

/** One account: a summary, its parts in tabs, and a menu of the changes that an operator can make. */
export function AccountPage() {
  const { accountId } = useParams({ from: "/shell/operator/operator/accounts/$accountId" });
  // The key resets the forms when the account changes.
  return <AccountView key={accountId} id={accountId} />;
}

function AccountView({ id }: { readonly id: string }) {
  const query = useQuery(api.operator.accounts.get.queryOptions({ id }, { staleTime: 0 }));
  const { tab = "overview" } = useSearch({ from: "/shell/operator/operator/accounts/$accountId" });
  return (
    <>
      <PageHead title={query.data?.name ?? "Account"} crumb={<Link to="/operator">Accounts</Link>}>
        {query.data === undefined ? null : <AccountActions account={query.data} />}
      </PageHead>
      <Loaded
        query={query}
        what="the account"
        missing={
          <Empty title="Account not found" art="search">
            <p>
              <Link to="/operator">Go to the accounts</Link>
            </p>
          </Empty>
        }
      >
        {(account) => (
          <>
            <Summary account={account} />
            <Tabs id={id} tab={tab} />
            <TabContent account={account} tab={tab} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Tabs({ id, tab }: { readonly id: string; readonly tab: AccountTab }) {
  return (
    <nav className={styles.tabs} aria-label="Parts of the account">
      {ACCOUNT_TABS.map(({ value, label }) => (
        <Link
          key={value}
          to="/operator/accounts/$accountId"
          params={{ accountId: id }}
          search={value === "overview" ? {} : { tab: value }}
          // By default the router takes the link of the overview, which has no parameters, for that of every tab.
          activeOptions={{ exact: true, includeSearch: true }}
          aria-current={value === tab ? "page" : undefined}
          className={styles.tab}
          resetScroll={false}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

function TabContent({ account, tab }: { readonly account: AccountDetails; readonly tab: AccountTab }) {
  switch (tab) {
    case "overview":
      return <Overview account={account} />;
    case "keys":
      return <AccountKeys accountId={account.id} />;
    case "usage":
      return <AccountUsage accountId={account.id} />;
    case "log":
      return <AccountLog accountId={account.id} />;
    case "access":
      return (
        <div className={consoleStyles.consoleColumns}>
          <IpRules account={account} />
          <Limits account={account} />
        </div>
      );
    case "credit":
      return <CreditHistory account={account} />;
    case "history":
      return <AccountTrail accountId={account.id} />;
  }
}
