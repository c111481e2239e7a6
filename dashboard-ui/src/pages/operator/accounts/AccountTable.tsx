import { Link } from "@tanstack/react-router";
import type { ListedAccount } from "../../../api/types.ts";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { Email } from "../../../components/Email.tsx";
import { formatBalance, formatCount, formatDate, formatUsdRoughly } from "../../../components/format.ts";
import textStyles from "../../../components/text.module.css";
import { LastRequest } from "../LastRequest.tsx";
import { planLabel } from "../plans.ts";
import { StateBadge } from "../StateBadge.tsx";
import type { AccountsSearch } from "../search.ts";
import styles from "./AccountTable.module.css";

const columnsFor = (
  sort: AccountSort,
  onSort: AccountTableProps["onSort"],
): readonly Column<ListedAccount>[] => [
  {
    label: "Account",
    kind: "name",
    cell: (account) => (
      <span className={textStyles.pair}>
        <Link to="/operator/accounts/$accountId" params={{ accountId: account.id }}>
          <bdi>{account.name}</bdi>
        </Link>
        <span className={textStyles.small}>
          <Users users={account.users} />
        </span>
      </span>
    ),
  },
  { label: "Plan", cell: ({ plan }) => planLabel(plan) },
  { label: "State", cell: ({ state }) => <StateBadge state={state} /> },
  {
    label: "Active keys",
    kind: "number",
    isMinor: true,
    cell: ({ activeKeys }) => formatCount(activeKeys),
  },
  {
    label: "Balance",
    kind: "number",
    cell: ({ balanceNanoUsd }) => formatBalance(balanceNanoUsd),
    ...sortBy("balance", sort, onSort),
  },
  {
    label: "Requests, 30\u00a0d",
    kind: "number",
    cell: ({ recentRequests }) => formatCount(recentRequests),
    ...sortBy("requests", sort, onSort),
  },
  {
    label: "Cost, 30\u00a0d",
    kind: "number",
    cell: ({ recentCostNanoUsd }) => formatUsdRoughly(recentCostNanoUsd),
    ...sortBy("cost", sort, onSort),
  },
  { label: "Last request", isMinor: true, cell: (account) => <LastRequest account={account} /> },
  {
    label: "Created",
    cell: ({ createdAt }) => <time dateTime={createdAt.toISOString()}>{formatDate(createdAt)}</time>,
    ...sortBy(undefined, sort, onSort),
  },
];

type AccountSort = Pick<AccountsSearch, "order" | "ascending">;

interface AccountTableProps {
  readonly accounts: readonly ListedAccount[];
  readonly busy: boolean;
  readonly sort: AccountSort;
  readonly onSort: (sort: AccountSort) => void;
}

/** A column that sorts by itself: the highest first, then, if it is pressed again, the lowest. */
function sortBy(order: AccountSort["order"], now: AccountSort, onSort: AccountTableProps["onSort"]) {
  const isSorted = order === now.order;
  const isAscending = now.ascending === true;
  return {
    sorted: !isSorted ? ("none" as const) : isAscending ? ("ascending" as const) : ("descending" as const),
    onSort: () => onSort({ order, ascending: isSorted && !isAscending ? true : undefined }),
  };
}

/** Accounts with links to their pages. */
export function AccountTable({ accounts, busy, sort, onSort }: AccountTableProps) {
  return (
    <DataTable
      caption="Accounts"
      className={styles.accountsTable}
      columns={columnsFor(sort, onSort)}
      rows={accounts}
      rowKey={({ id }) => id}
      busy={busy}
    />
  );
}

function Users({ users: [first, ...others] }: Pick<ListedAccount, "users">) {
  if (first === undefined) return "No users";
  return (
    <>
      <Email address={first.email} />
      {others.length === 0 ? null : ` and ${formatCount(others.length)} more`}
    </>
  );
}
