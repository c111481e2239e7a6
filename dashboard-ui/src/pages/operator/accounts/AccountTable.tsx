import { Link } from "@tanstack/react-router";
import type { ListedAccount } from "../../../api/types.ts";
import { formatCount, formatDate, formatUsd } from "../../../components/format.ts";
import { StateBadge } from "../StateBadge.tsx";

interface AccountTableProps {
  readonly accounts: readonly ListedAccount[];
  /** While others are asked for. */
  readonly busy: boolean;
}

/** Accounts, each the way to its page. */
export function AccountTable({ accounts, busy }: AccountTableProps) {
  return (
    <div className="table-frame" aria-busy={busy}>
      <table className="table accounts-table">
        <caption className="visually-hidden">Accounts, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Account</th>
            <th scope="col">Plan</th>
            <th scope="col">State</th>
            <th scope="col" className="number">
              Active keys
            </th>
            <th scope="col" className="number">
              Balance
            </th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {accounts.map((account) => (
            <tr key={account.id}>
              <th scope="row" className="name">
                <span className="pair">
                  <Link to="/operator/accounts/$accountId" params={{ accountId: account.id }}>
                    {account.name}
                  </Link>
                  <span className="small">{usersOf(account)}</span>
                </span>
              </th>
              <td data-label="Plan">{account.plan}</td>
              <td data-label="State">
                <StateBadge state={account.state} />
              </td>
              <td data-label="Active keys" className="number">
                {formatCount(account.activeKeys)}
              </td>
              <td data-label="Balance" className="number">
                {formatUsd(account.balanceNanoUsd)}
              </td>
              <td data-label="Created">
                <time dateTime={account.createdAt.toISOString()}>{formatDate(account.createdAt)}</time>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function usersOf({ users }: ListedAccount): string {
  const [first, ...others] = users;
  if (first === undefined) return "no users";
  return others.length === 0 ? first.email : `${first.email} and ${formatCount(others.length)} more`;
}
