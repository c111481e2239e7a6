import { useMemo } from "react";
import type { UsageTotals } from "../../api/types.ts";
import { Chart } from "../../components/Chart.tsx";
import { ChartLegend } from "../../components/chart/ChartLegend.tsx";
import { formatCount, formatCountBriefly, formatUsd, formatUsdRoughly } from "../../components/format.ts";
import panelStyles from "../../components/Panel.module.css";
import { tokensOf, type UsageGroup } from "./groups.ts";
import type { Period } from "./period.ts";
import usageStyles from "./usage.module.css";

interface Measure {
  readonly name: string;
  readonly read: (totals: UsageTotals) => number;
  readonly format: (value: number) => string;
  readonly formatTick: (value: number) => string;
}

const nanoUsd = (value: number) => BigInt(Math.round(value));

const MEASURES: readonly Measure[] = [
  { name: "Requests", read: ({ requests }) => requests, format: formatCount, formatTick: formatCountBriefly },
  { name: "Errors", read: ({ errors }) => errors, format: formatCount, formatTick: formatCountBriefly },
  { name: "Tokens", read: tokensOf, format: formatCount, formatTick: formatCountBriefly },
  {
    name: "Cost",
    read: ({ costNanoUsd }) => Number(costNanoUsd),
    format: (value) => formatUsdRoughly(nanoUsd(value)),
    formatTick: (value) => formatUsd(nanoUsd(value)),
  },
];

interface UsageChartsProps {
  readonly groups: readonly UsageGroup[];
  readonly period: Period;
  /** The suffix of the charts' labels: ", by model". */
  readonly grouping: string;
}

/** Requests, errors, tokens and cost over time. */
export function UsageCharts({ groups, period, grouping }: UsageChartsProps) {
  return (
    <>
      {groups.length > 1 ? <ChartLegend series={groups} /> : null}
      <div className={usageStyles.usageCharts}>
        {MEASURES.map((measure) => (
          <section key={measure.name} className={panelStyles.panel} aria-label={`${measure.name} over time`}>
            <h3>{measure.name}</h3>
            <MeasureChart measure={measure} groups={groups} period={period} grouping={grouping} />
          </section>
        ))}
      </div>
    </>
  );
}

function MeasureChart({
  measure,
  groups,
  period,
  grouping,
}: UsageChartsProps & { readonly measure: Measure }) {
  const series = useMemo(
    () =>
      groups.map(({ label, intervals, isOther = false }) => ({
        label,
        values: intervals.map(measure.read),
        isOther,
      })),
    [groups, measure],
  );
  return (
    <Chart
      label={`${measure.name}${grouping}, ${period.words}`}
      times={period.starts}
      interval={period.span.interval}
      series={series}
      format={measure.format}
      formatTick={measure.formatTick}
      hasLegend={false}
    />
  );
}
