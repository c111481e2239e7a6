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
  order: AccountsSearch["order"],
  onOrder: AccountTableProps["onOrder"],
): readonly Column<ListedAccount>[] => [
  {
    label: "Account",
    kind: "name",
    cell: (account) => (
      <span className={textStyles.pair}>
        <Link to="/operator/accounts/$accountId" params={{ accountId: account.id }}>
          {account.name}
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
  { label: "Balance", kind: "number", cell: ({ balanceNanoUsd }) => formatBalance(balanceNanoUsd) },
  {
    label: "Requests, 30\u00a0d",
    kind: "number",
    cell: ({ recentRequests }) => formatCount(recentRequests),
    ...sortOf("requests", order, onOrder),
  },
  {
    label: "Cost, 30\u00a0d",
    kind: "number",
    cell: ({ recentCostNanoUsd }) => formatUsdRoughly(recentCostNanoUsd),
    ...sortOf("cost", order, onOrder),
  },
  { label: "Last request", isMinor: true, cell: (account) => <LastRequest account={account} /> },
  {
    label: "Created",
    cell: ({ createdAt }) => <time dateTime={createdAt.toISOString()}>{formatDate(createdAt)}</time>,
    ...sortOf(undefined, order, onOrder),
  },
];

interface AccountTableProps {
  readonly accounts: readonly ListedAccount[];
  readonly busy: boolean;
  /** The order of the accounts. Absent: the newest first. */
  readonly order: AccountsSearch["order"];
  readonly onOrder: (order: AccountsSearch["order"]) => void;
}

function sortOf(
  order: AccountsSearch["order"],
  now: AccountsSearch["order"],
  onOrder: AccountTableProps["onOrder"],
) {
  const sorted = order === now ? ("descending" as const) : ("none" as const);
  return { sorted, onSort: () => onOrder(order) };
}

/** Accounts with links to their pages. */
export function AccountTable({ accounts, busy, order, onOrder }: AccountTableProps) {
  return (
    <DataTable
      caption="Accounts"
      className={styles.accountsTable}
      columns={columnsFor(order, onOrder)}
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
