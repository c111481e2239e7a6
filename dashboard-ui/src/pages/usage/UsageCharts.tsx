import { useMemo } from "react";
import { Chart } from "../../components/Chart.tsx";
import panelStyles from "../../components/Panel.module.css";
import type { Colours, UsageGroup } from "./groups.ts";
import { MEASURES, type Measure } from "./measures.ts";
import { type Period, startOf } from "./period.ts";
import usageStyles from "./usage.module.css";

/** A part of a chart: a group's, or all requests', in an interval. */
export interface UsagePick {
  readonly group: UsageGroup | null;
  readonly from: Date;
  readonly to: Date;
  readonly isOfErrors: boolean;
}

interface UsageChartsProps {
  /** The groups of each chart, in the order of {@link MEASURES}. */
  readonly charts: readonly (readonly UsageGroup[])[];
  readonly colours: readonly Colours[];
  readonly period: Period;
  /** The suffix of the charts' labels: ", by model". */
  readonly grouping: string;
  readonly onPick: ((pick: UsagePick) => void) | undefined;
}

/** Requests, errors, tokens and cost over time. */
export function UsageCharts({ charts, colours, ...rest }: UsageChartsProps) {
  return (
    <div className={usageStyles.usageCharts}>
      {MEASURES.map((measure, index) => (
        <section key={measure.name} className={panelStyles.panel} aria-label={`${measure.name} over time`}>
          <h3>{measure.name}</h3>
          <MeasureChart measure={measure} groups={charts[index]} colours={colours[index]} {...rest} />
        </section>
      ))}
    </div>
  );
}

interface MeasureChartProps extends Omit<UsageChartsProps, "charts" | "colours"> {
  readonly measure: Measure;
  readonly groups: readonly UsageGroup[] | undefined;
  readonly colours: Colours | undefined;
}

const NO_GROUPS: readonly UsageGroup[] = [];

function MeasureChart(props: MeasureChartProps) {
  const { measure, groups = NO_GROUPS, colours, period, grouping, onPick } = props;
  const series = useMemo(
    () =>
      groups.map(({ id, label, intervals, isOther = false }) => ({
        label,
        values: intervals.map(measure.read),
        isOther,
        colour: colours?.get(id),
      })),
    [groups, colours, measure],
  );
  const { interval } = period.span;
  return (
    <Chart
      label={`${measure.name}${grouping}, ${period.words}`}
      times={period.starts}
      interval={interval}
      series={series}
      isNamed={grouping !== ""}
      format={measure.format}
      formatTick={measure.formatTick}
      onPick={
        onPick === undefined
          ? undefined
          : (part) => {
              const from = period.starts[part.interval];
              if (from === undefined) return;
              const group = part.series === null ? null : (groups[part.series] ?? null);
              onPick({ group, from, to: startOf(from, interval, 1), isOfErrors: measure.name === "Errors" });
            }
      }
    />
  );
}
