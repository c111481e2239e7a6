import { type ReactNode, useState } from "react";
import type { UsageTotals } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { formatCount, formatShare, formatUsdRoughly } from "../../components/format.ts";
import { tokensOf } from "./groups.ts";

/** From this many rows on, the rest are folded away. */
const FOLDED = 12;

export interface UsageTableRow {
  readonly id: string;
  readonly name: ReactNode;
  readonly total: UsageTotals;
}

interface UsageTableProps {
  readonly caption: string;
  /** What the rows are: "Model". */
  readonly of: string;
  /** Whether they are intervals of time. */
  readonly isOfTime: boolean;
  readonly rows: readonly UsageTableRow[];
}

/** What the charts show, in numbers. */
export function UsageTable({ caption, of, isOfTime, rows }: UsageTableProps) {
  const [isUnfolded, setUnfolded] = useState(false);
  const shown = isUnfolded || rows.length <= FOLDED ? rows : rows.slice(0, FOLDED);
  return (
    <div className="table-frame">
      <table className="table">
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{of}</th>
            <th scope="col" className="number">
              Requests
            </th>
            <th scope="col" className="number">
              Errors
            </th>
            <th scope="col" className="number">
              Tokens
            </th>
            <th scope="col" className="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ id, name, total }) => (
            <tr key={id}>
              <th scope="row" className={isOfTime ? "time" : "name"}>
                {name}
              </th>
              <td data-label="Requests" className="number">
                {formatCount(total.requests)}
              </td>
              <td data-label="Errors" className="number">
                <span>
                  {formatCount(total.errors)}
                  {total.errors === 0 ? null : (
                    <span className="usage-rate"> {formatShare(total.errors / total.requests)}</span>
                  )}
                </span>
              </td>
              <td data-label="Tokens" className="number">
                {formatCount(tokensOf(total))}
              </td>
              <td data-label="Cost" className="number">
                {formatUsdRoughly(total.costNanoUsd)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length <= FOLDED ? null : (
        <div className="more usage-more">
          <Button aria-expanded={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
            {isUnfolded ? "Show fewer" : `Show all ${formatCount(rows.length)}`}
          </Button>
        </div>
      )}
    </div>
  );
}
