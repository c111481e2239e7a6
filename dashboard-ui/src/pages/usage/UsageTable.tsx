import { type ReactNode, useMemo, useState } from "react";
import type { UsageTotals } from "../../api/types.ts";
import { classes } from "../../components/classes.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { useFolded } from "../../components/Folded.tsx";
import { formatCount, formatShare } from "../../components/format.ts";
import { MEASURES } from "./measures.ts";
import usageStyles from "./usage.module.css";

export interface UsageTableRow {
  readonly id: string;
  readonly name: ReactNode;
  /** What the rows are sorted by in the first column. */
  readonly sortName: string;
  readonly total: UsageTotals;
}

const CELLS: Readonly<Record<string, (row: UsageTableRow) => ReactNode>> = {
  Errors: ({ total }) => <Errors total={total} />,
};

interface Sorting {
  /** The name of a measure; `null`: the first column. */
  readonly by: string | null;
  readonly isDescending: boolean;
}

interface UsageTableProps {
  readonly caption: string;
  /** The header of the first column: "Model". */
  readonly of: string;
  /** Whether the rows are intervals of time. */
  readonly isOfTime: boolean;
  readonly rows: readonly UsageTableRow[];
}

/** A table of the charts' data. Each column sorts it. */
export function UsageTable({ caption, of, isOfTime, rows }: UsageTableProps) {
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const sorted = useMemo(() => (sorting === null ? rows : sortedBy(sorting, rows)), [sorting, rows]);
  const { shown, footer } = useFolded(sorted);
  const sortBy = (by: string | null) =>
    setSorting((before) => ({ by, isDescending: before?.by === by ? !before.isDescending : by !== null }));
  // The order of the answer: the newest interval, or the most requests, first.
  const current = sorting ?? { by: isOfTime ? null : "Requests", isDescending: true };
  const sortOf = (by: string | null) => ({
    onSort: () => sortBy(by),
    sorted:
      current.by !== by
        ? ("none" as const)
        : current.isDescending
          ? ("descending" as const)
          : ("ascending" as const),
  });
  return (
    <DataTable
      caption={caption}
      columns={[
        { label: of, kind: isOfTime ? "time" : "name", cell: ({ name }) => name, ...sortOf(null) },
        ...MEASURES.map(
          ({ name, read, format }): Column<UsageTableRow> => ({
            label: name,
            kind: "number",
            cell: CELLS[name] ?? (({ total }) => format(read(total))),
            ...sortOf(name),
          }),
        ),
      ]}
      rows={shown}
      rowKey={({ id }) => id}
      footer={footer}
    />
  );
}

function sortedBy({ by, isDescending }: Sorting, rows: readonly UsageTableRow[]): readonly UsageTableRow[] {
  const read = MEASURES.find(({ name }) => name === by)?.read;
  const compare = (one: UsageTableRow, other: UsageTableRow) =>
    read === undefined
      ? one.sortName.localeCompare(other.sortName, "en")
      : read(one.total) - read(other.total);
  return rows.toSorted((one, other) => (isDescending ? compare(other, one) : compare(one, other)));
}

function Errors({ total }: { readonly total: UsageTotals }) {
  return (
    <span>
      {formatCount(total.errors)}
      {total.errors === 0 ? null : " "}
      <span className={classes(usageStyles.usageRate, usageStyles.usageRateCell)}>
        {total.errors === 0 ? null : formatShare(total.errors / total.requests)}
      </span>
    </span>
  );
}
