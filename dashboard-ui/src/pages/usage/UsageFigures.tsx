import type { ReactNode } from "react";
import type { UsageTotals } from "../../api/types.ts";
import { formatCount, formatShare, formatUsdRoughly } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import { tokensOf } from "./groups.ts";
import usageStyles from "./usage.module.css";

/** From this factor on, a change is shown as a multiple instead of a percentage. */
const MANY_TIMES = 10;

interface UsageFiguresProps {
  readonly total: UsageTotals;
  /** The totals of the preceding period. */
  readonly before: UsageTotals;
  /** The name of the preceding period: "the 7 days before". */
  readonly labelBefore: string;
}

/** The totals of a period beside those of the preceding one. */
export function UsageFigures({ total, before, labelBefore }: UsageFiguresProps) {
  const compare = (read: (totals: UsageTotals) => number) =>
    inComparison(read(total), read(before), labelBefore);
  return (
    <dl className={usageStyles.usageFigures}>
      <Figure name="Requests" note={compare(({ requests }) => requests)}>
        {formatCount(total.requests)}
      </Figure>
      <Figure name="Errors" note={before.requests === 0 ? null : `${rateOf(before)} in ${labelBefore}`}>
        {formatCount(total.errors)}
        {total.requests === 0 ? null : <span className={usageStyles.usageRate}> {rateOf(total)}</span>}
      </Figure>
      <Figure name="Tokens" note={compare(tokensOf)}>
        {formatCount(tokensOf(total))}
      </Figure>
      <Figure name="Cost" note={compare(({ costNanoUsd }) => Number(costNanoUsd))}>
        {formatUsdRoughly(total.costNanoUsd)}
      </Figure>
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly note: string | null;
  readonly children: ReactNode;
}

function Figure({ name, note, children }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={usageStyles.usageFigure}>{children}</dd>
      {note === null ? null : <dd className={textStyles.small}>{note}</dd>}
    </div>
  );
}

function rateOf({ requests, errors }: UsageTotals): string {
  return formatShare(requests === 0 ? 0 : errors / requests);
}

function inComparison(now: number, before: number, labelBefore: string): string | null {
  if (before === 0) return now === 0 ? null : `none in ${labelBefore}`;
  if (now / before >= MANY_TIMES) return `${formatCount(Math.round(now / before))} times ${labelBefore}`;
  const change = Math.round((now / before - 1) * 100);
  if (change === 0) return `as in ${labelBefore}`;
  if (change === -100 && now > 0) return `over 99% less than in ${labelBefore}`;
  return `${formatCount(Math.abs(change))}% ${change > 0 ? "more" : "less"} than in ${labelBefore}`;
}
