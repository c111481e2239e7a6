import { Link } from "@tanstack/react-router";
import type { StatementLine } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import {
  formatUsdRoughly,
  formatUtcDate,
  formatUtcDateTime,
  longestFraction,
} from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import { Amount } from "./Amount.tsx";
import styles from "./StatementTable.module.css";

const KINDS = { requests: "Requests", grant: "Grant", adjustment: "Adjustment" } as const;
const DAY_MS = 24 * 60 * 60_000;

/** The lines of a statement, newest first. */
export function StatementTable({ lines }: { readonly lines: readonly StatementLine[] }) {
  const fraction = longestFraction(lines.map(({ amountNanoUsd }) => amountNanoUsd));
  return (
    <DataTable
      caption="Statement, newest first"
      columns={columnsFor(fraction)}
      rows={lines}
      rowKey={({ id }) => id}
    />
  );
}

/** `fraction`: digits after the point. */
function columnsFor(fraction: number): readonly Column<StatementLine>[] {
  return [
    {
      label: "Date (UTC)",
      kind: "time",
      cell: ({ kind, at }) => (
        <time dateTime={at.toISOString()}>
          {kind === "requests" ? formatUtcDate(at) : formatUtcDateTime(at)}
        </time>
      ),
    },
    {
      label: "Type",
      cell: ({ kind }) => <Badge tone={kind === "grant" ? "good" : undefined}>{KINDS[kind]}</Badge>,
    },
    {
      label: "Reason",
      className: styles.reason,
      cell: (line) => (line.kind === "requests" ? <DayOfRequests day={line} /> : line.reason),
    },
    {
      label: "Amount",
      kind: "number",
      cell: ({ amountNanoUsd }) => <Amount nanoUsd={amountNanoUsd} fraction={fraction} />,
    },
  ];
}

function DayOfRequests({ day: { at, uncollectedNanoUsd } }: { readonly day: StatementLine }) {
  const to = new Date(at.getTime() + DAY_MS);
  return (
    <span>
      <Link to="/audit" search={{ from: at.toISOString(), to: to.toISOString() }}>
        View requests
      </Link>
      {uncollectedNanoUsd === 0n ? null : (
        <span className={textStyles.small}> {formatUsdRoughly(uncollectedNanoUsd)} was not charged</span>
      )}
    </span>
  );
}
