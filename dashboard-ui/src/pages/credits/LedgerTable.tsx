import { Link } from "@tanstack/react-router";
import { Badge } from "../../components/Badge.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatCount, formatDate, formatDateTime } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import { Amount, longestFraction } from "./Amount.tsx";
import styles from "./LedgerTable.module.css";
import type { DayOfCharges, LedgerLine } from "./ledger-lines.ts";

const KINDS = { charges: "Charges", grant: "Grant", adjustment: "Adjustment" } as const;

/** Transactions, newest first. */
export function LedgerTable({ lines }: { readonly lines: readonly LedgerLine[] }) {
  const fraction = longestFraction(lines.map(({ amountNanoUsd }) => amountNanoUsd));
  return (
    <DataTable
      caption="Credit ledger, newest first"
      columns={columnsFor(fraction)}
      rows={lines}
      rowKey={({ id }) => id}
    />
  );
}

/** `fraction`: digits after the point. */
function columnsFor(fraction: number): readonly Column<LedgerLine>[] {
  return [
    {
      label: "Date",
      kind: "time",
      cell: ({ kind, at }) => (
        <time dateTime={at.toISOString()}>{kind === "charges" ? formatDate(at) : formatDateTime(at)}</time>
      ),
    },
    {
      label: "Type",
      cell: ({ kind }) => <Badge tone={kind === "grant" ? "good" : undefined}>{KINDS[kind]}</Badge>,
    },
    {
      label: "Reason",
      className: styles.reason,
      cell: (line) => (line.kind === "charges" ? <Requests day={line} /> : line.reason),
    },
    {
      label: "Amount",
      kind: "number",
      cell: ({ amountNanoUsd }) => <Amount nanoUsd={amountNanoUsd} fraction={fraction} />,
    },
  ];
}

function Requests({ day: { at, count } }: { readonly day: DayOfCharges }) {
  const from = new Date(at.getFullYear(), at.getMonth(), at.getDate());
  const to = new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1);
  return (
    <span>
      <Link to="/audit" search={{ from: from.toISOString(), to: to.toISOString() }}>
        View requests
      </Link>
      {count === 1 ? null : <span className={textStyles.small}> in {formatCount(count)} charges</span>}
    </span>
  );
}
