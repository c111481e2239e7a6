import { type ReactNode, useState } from "react";
import type { UsageTotals } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { classes } from "../../components/classes.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatCount, formatShare, formatUsdRoughly } from "../../components/format.ts";
import pagedStyles from "../../components/Paged.module.css";
import { tokensOf } from "./groups.ts";
import usageStyles from "./usage.module.css";

/** The number of rows from which a table is folded. */
const FOLDED = 12;

export interface UsageTableRow {
  readonly id: string;
  readonly name: ReactNode;
  readonly total: UsageTotals;
}

const TOTALS: readonly Column<UsageTableRow>[] = [
  { label: "Requests", kind: "number", cell: ({ total }) => formatCount(total.requests) },
  { label: "Errors", kind: "number", cell: ({ total }) => <Errors total={total} /> },
  { label: "Tokens", kind: "number", cell: ({ total }) => formatCount(tokensOf(total)) },
  { label: "Cost", kind: "number", cell: ({ total }) => formatUsdRoughly(total.costNanoUsd) },
];

interface UsageTableProps {
  readonly caption: string;
  /** The header of the first column: "Model". */
  readonly of: string;
  /** Whether the rows are intervals of time. */
  readonly isOfTime: boolean;
  readonly rows: readonly UsageTableRow[];
}

/** A table of the charts' data. */
export function UsageTable({ caption, of, isOfTime, rows }: UsageTableProps) {
  const [isUnfolded, setUnfolded] = useState(false);
  const shown = isUnfolded || rows.length <= FOLDED ? rows : rows.slice(0, FOLDED);
  const isLong = rows.length > FOLDED;
  return (
    <DataTable
      caption={caption}
      columns={[{ label: of, kind: isOfTime ? "time" : "name", cell: ({ name }) => name }, ...TOTALS]}
      rows={shown}
      rowKey={({ id }) => id}
      footer={
        isLong ? (
          <div className={classes(pagedStyles.more, usageStyles.usageMore)}>
            <Button aria-expanded={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
              {isUnfolded ? "Show fewer" : `Show all ${formatCount(rows.length)}`}
            </Button>
          </div>
        ) : null
      }
    />
  );
}

function Errors({ total }: { readonly total: UsageTotals }) {
  return (
    <span>
      {formatCount(total.errors)}
      {total.errors === 0 ? null : (
        <span className={usageStyles.usageRate}> {formatShare(total.errors / total.requests)}</span>
      )}
    </span>
  );
}
