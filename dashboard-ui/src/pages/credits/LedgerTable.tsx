import { Link } from "@tanstack/react-router";
import { formatCount, formatDate, formatDateTime } from "../../components/format.ts";
import { Amount, longestFraction } from "./Amount.tsx";
import type { DayOfCharges, LedgerLine } from "./ledger-lines.ts";

const KINDS = { charges: "Charges", grant: "Grant", adjustment: "Adjustment" } as const;

/** What came into the account and went out of it, newest first. */
export function LedgerTable({ lines }: { readonly lines: readonly LedgerLine[] }) {
  const fraction = longestFraction(lines.map(({ amountNanoUsd }) => amountNanoUsd));
  return (
    <div className="table-frame">
      <table className="table">
        <caption className="visually-hidden">Credit ledger, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Date</th>
            <th scope="col">Type</th>
            <th scope="col">Reason</th>
            <th scope="col" className="number">
              Amount
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.id}>
              <th scope="row" className="time">
                <time dateTime={line.at.toISOString()}>
                  {line.kind === "charges" ? formatDate(line.at) : formatDateTime(line.at)}
                </time>
              </th>
              <td data-label="Type">
                <span className={line.kind === "grant" ? "badge badge-active" : "badge"}>
                  {KINDS[line.kind]}
                </span>
              </td>
              <td data-label="Reason" className="reason">
                {line.kind === "charges" ? <Requests day={line} /> : line.reason}
              </td>
              <td data-label="Amount" className="number">
                <Amount nanoUsd={line.amountNanoUsd} fraction={fraction} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Requests({ day: { at, count } }: { readonly day: DayOfCharges }) {
  const from = new Date(at.getFullYear(), at.getMonth(), at.getDate());
  const to = new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1);
  return (
    <span>
      <Link to="/audit" search={{ from: from.toISOString(), to: to.toISOString() }}>
        View requests
      </Link>
      {count === 1 ? null : <span className="small"> in {formatCount(count)} charges</span>}
    </span>
  );
}
