import { useMemo } from "react";
import type { UsageTotals } from "../../api/types.ts";
import { Chart, type ChartPart } from "../../components/Chart.tsx";
import { formatCount, formatCountBriefly } from "../../components/format.ts";
import panelStyles from "../../components/Panel.module.css";
import type { Places, UsageGroup } from "./groups.ts";
import { MEASURES, type Measure, TOKEN_KINDS } from "./measures.ts";
import type { Period } from "./period.ts";
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
  readonly places: Places;
  /** The totals of each interval. */
  readonly totals: readonly UsageTotals[];
  readonly period: Period;
  /** The suffix of the charts' labels: ", by model". */
  readonly grouping: string;
  readonly onPick: ((pick: UsagePick) => void) | undefined;
}

/** Requests, errors, tokens and cost over time, and what kinds of tokens they are. */
export function UsageCharts({ charts, places, totals, ...rest }: UsageChartsProps) {
  return (
    <div className={usageStyles.usageCharts}>
      {MEASURES.map((measure, index) => (
        <section key={measure.name} className={panelStyles.panel} aria-label={`${measure.name} over time`}>
          <h3>{measure.name}</h3>
          <MeasureChart measure={measure} groups={charts[index]} places={places} {...rest} />
        </section>
      ))}
      <section className={panelStyles.panel} aria-label="Input and output tokens over time">
        <h3>Input and output tokens</h3>
        <TokenKindsChart totals={totals} {...rest} />
      </section>
    </div>
  );
}

type TokenKindsProps = Pick<UsageChartsProps, "totals" | "period" | "onPick">;

/** The tokens of all requests: those of prompts, those of prompts that were cached, and those of answers. */
function TokenKindsChart({ totals, period, onPick }: TokenKindsProps) {
  const series = useMemo(
    () => TOKEN_KINDS.map(({ name, read }) => ({ label: name, values: totals.map(read) })),
    [totals],
  );
  const { interval } = period.span;
  const pick = ({ interval: index }: ChartPart) => {
    const from = period.starts[index];
    if (from !== undefined) onPick?.({ group: null, from, to: endOf(period, index), isOfErrors: false });
  };
  return (
    <Chart
      label={`Input and output tokens, ${period.words}`}
      times={period.starts}
      interval={interval}
      timeZone={period.shownZone}
      series={series}
      format={formatCount}
      formatTick={formatCountBriefly}
      blank="No tokens"
      onPick={onPick === undefined ? undefined : pick}
    />
  );
}

interface MeasureChartProps extends Omit<UsageChartsProps, "charts" | "totals"> {
  readonly measure: Measure;
  readonly groups: readonly UsageGroup[] | undefined;
}

const NO_GROUPS: readonly UsageGroup[] = [];

function MeasureChart(props: MeasureChartProps) {
  const { measure, groups = NO_GROUPS, places, period, grouping, onPick } = props;
  const series = useMemo(
    () =>
      groups.map(({ id, label, intervals, isOther = false }) => ({
        label,
        values: intervals.map(measure.read),
        isOther,
        colour: measure.name === "Errors" && grouping === "" ? ("errors" as const) : places.get(id),
      })),
    [groups, places, measure, grouping],
  );
  const { interval } = period.span;
  return (
    <Chart
      label={`${measure.name}${grouping}, ${period.words}`}
      times={period.starts}
      interval={interval}
      timeZone={period.shownZone}
      series={series}
      isNamed={grouping !== ""}
      format={measure.format}
      formatTick={measure.formatTick}
      blank={`No ${measure.name.toLowerCase()}`}
      onPick={
        onPick === undefined
          ? undefined
          : (part) => {
              const from = period.starts[part.interval];
              if (from === undefined) return;
              const group = part.series === null ? null : (groups[part.series] ?? null);
              onPick({
                group,
                from,
                to: endOf(period, part.interval),
                isOfErrors: measure.name === "Errors",
              });
            }
      }
    />
  );
}

/** When an interval of the period ends. */
function endOf({ starts, span }: Period, index: number): Date {
  return starts[index + 1] ?? span.to;
}
