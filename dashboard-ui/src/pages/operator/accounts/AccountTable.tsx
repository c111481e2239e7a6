import { Link } from "@tanstack/react-router";
import type { ListedAccount } from "../../../api/types.ts";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { formatCount, formatDate, formatUsd } from "../../../components/format.ts";
import textStyles from "../../../components/text.module.css";
import { StateBadge } from "../StateBadge.tsx";
import styles from "./AccountTable.module.css";

const COLUMNS: readonly Column<ListedAccount>[] = [
  {
    label: "Account",
    kind: "name",
    cell: (account) => (
      <span className={textStyles.pair}>
        <Link to="/operator/accounts/$accountId" params={{ accountId: account.id }}>
          {account.name}
        </Link>
        <span className={textStyles.small}>{usersOf(account)}</span>
      </span>
    ),
  },
  { label: "Plan", cell: ({ plan }) => plan },
  { label: "State", cell: ({ state }) => <StateBadge state={state} /> },
  { label: "Active keys", kind: "number", cell: ({ activeKeys }) => formatCount(activeKeys) },
  { label: "Balance", kind: "number", cell: ({ balanceNanoUsd }) => formatUsd(balanceNanoUsd) },
  {
    label: "Created",
    cell: ({ createdAt }) => <time dateTime={createdAt.toISOString()}>{formatDate(createdAt)}</time>,
  },
];

interface AccountTableProps {
  readonly accounts: readonly ListedAccount[];
  readonly busy: boolean;
}

/** Accounts with links to their pages. */
export function AccountTable({ accounts, busy }: AccountTableProps) {
  return (
    <DataTable
      caption="Accounts, newest first"
      className={styles.accountsTable}
      columns={COLUMNS}
      rows={accounts}
      rowKey={({ id }) => id}
      busy={busy}
    />
  );
}

function usersOf({ users }: ListedAccount): string {
  const [first, ...others] = users;
  if (first === undefined) return "No users";
  return others.length === 0 ? first.email : `${first.email} and ${formatCount(others.length)} more`;
}
