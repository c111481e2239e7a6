import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import styles from "./Chart.module.css";
import "uplot/dist/uPlot.min.css";
import { ChartCursor } from "./chart/ChartCursor.tsx";
import { ChartLegend } from "./chart/ChartLegend.tsx";
import { ChartTooltip } from "./chart/ChartTooltip.tsx";
import { type SeriesPlace, seriesColour, useColours } from "./chart/colours.ts";
import { measureIn, useWidth } from "./chart/measure.ts";
import { plotInto } from "./chart/plot.ts";
import type { SeriesValue } from "./chart/series-value.ts";
import { intervalLabel, timeTicks } from "./chart/time-labels.ts";
import { topOf, valueTicks } from "./chart/value-ticks.ts";

interface ChartSeries {
  readonly label: string;
  /** One value for each time; `null` where there is no value. */
  readonly values: readonly (number | null)[];
  /** Whether this series sums up all series that are not shown on their own. It has the colour of the rest. */
  readonly isOther?: boolean;
  /** The place of its colour, from 0 up, or that of errors. Default: its place among the series. */
  readonly colour?: SeriesPlace | undefined;
}

/** A part of a chart that was chosen. */
export interface ChartPart {
  /** The index of the interval. */
  readonly interval: number;
  /** The index of the series; `null`: the whole interval. */
  readonly series: number | null;
}

interface ChartProps {
  /** The chart's description for screen readers: "Requests by model, the last 30 days". */
  readonly label: string;
  /** The start of each interval, ascending. */
  readonly times: readonly Date[];
  readonly interval: "hour" | "day" | "month";
  /** The zone in which times are shown. Default: hours in the reader's, days and months in UTC. */
  readonly timeZone?: string | undefined;
  readonly series: readonly ChartSeries[];
  readonly kind?: "stacked-bars" | "line";
  /** Formats a value: "1,234", "$0.52". */
  readonly format: (value: number) => string;
  /** Formats a value of the axis briefly, all of whose values are given: "1.2K". */
  readonly formatTick?: (value: number, ticks: readonly number[]) => string;
  readonly heightPx?: number;
  /** Whether values have the names of their series beside them. Default: with more than one series. */
  readonly isNamed?: boolean;
  /** False when the names of the series stand elsewhere. */
  readonly hasLegend?: boolean;
  /** What is said in the place of a chart that would be blank: "No errors". */
  readonly blank?: string;
  /** Called with the part of a bar that was clicked, or with the interval on Enter. */
  readonly onPick?: ((part: ChartPart) => void) | undefined;
}

/** The width that most value labels need at most, with the spaces beside the plot. */
const VALUES_PX = 84;

/** Values over time, from 0 up. A tooltip shows the values of the interval at the pointer or the keyboard cursor. */
export function Chart({
  label,
  times,
  interval,
  timeZone,
  series: all,
  kind = "stacked-bars",
  format,
  formatTick = format,
  heightPx = 180,
  isNamed = all.length > 1,
  hasLegend = true,
  blank = "No requests",
  onPick,
}: ChartProps) {
  const { series, hidden, toggle } = useVisible(all);
  const place = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(place);
  const resolveColour = useColours();
  const [shown, setShown] = useState<number | null>(null);
  const ticks = useMemo(() => valueTicks(heightsOf(series, times.length, kind)), [series, times, kind]);

  useLayoutEffect(() => {
    const element = place.current;
    if (element === null || widthPx === 0 || times.length === 0) return;
    const plot = plotInto(element, {
      widthPx,
      heightPx,
      kind,
      series: series.map(({ values, colour }) => ({ values, colour: resolveColour(element, colour) })),
      intervals: times.length,
      ticks,
      gridColour: resolveColour(element, "var(--line)"),
    });
    return () => plot.destroy();
  }, [widthPx, heightPx, kind, series, times, ticks, resolveColour]);

  const timeLabels = useMemo(() => {
    const element = place.current;
    if (element === null || widthPx === 0) return [];
    const sharedPx = Math.min(widthPx, (element.parentElement?.clientWidth ?? widthPx) - VALUES_PX);
    return timeTicks(
      times,
      { interval, timeZone },
      {
        columnPx: widthPx / times.length,
        sharedColumnPx: sharedPx / times.length,
        widthOf: measureIn(element),
      },
    );
  }, [times, interval, timeZone, widthPx]);

  useEscape(shown !== null, setShown);

  const last = times.length - 1;
  const columnPx = widthPx / Math.max(1, times.length);
  // The interval may no longer exist: another range has fewer intervals.
  const at = Math.min(shown ?? last, last);
  const time = times[at];
  const title = time === undefined ? "" : intervalLabel(time, interval, timeZone);
  const isStacked = kind === "stacked-bars";
  const values = valuesAt(series, at);
  // In stacked charts, the tooltip leaves out zeros.
  const listed = isStacked && isNamed ? values.filter(({ value }) => value !== 0) : values;
  const isShown = shown !== null && time !== undefined;
  return (
    <figure className={styles.chart}>
      {hasLegend && isNamed ? <ChartLegend series={all} hidden={hidden} onToggle={toggle} /> : null}
      <div className={styles.chartBody}>
        <Ticks ticks={ticks} heightPx={heightPx} format={formatTick} />
        {isShown ? (
          <div
            className={styles.chartColumn}
            style={{ left: at * columnPx, width: columnPx, height: heightPx }}
          />
        ) : null}
        <div
          ref={place}
          className={styles.chartPlot}
          role="img"
          aria-label={label}
          style={{ height: heightPx }}
        />
        {isBlank(all, kind) ? <p className={styles.blank}>{blank}</p> : null}
        {time === undefined ? null : (
          <ChartCursor
            label={label}
            intervals={times.length}
            at={at}
            isShown={isShown}
            title={title}
            values={listed}
            isNamed={isNamed}
            format={format}
            onMove={setShown}
            onEnter={() => setShown((before) => before ?? last)}
            onLeave={() => setShown(null)}
            onPick={
              onPick === undefined
                ? undefined
                : (interval, height) => {
                    const part = height === null ? null : partAt(series, interval, height * topOf(ticks));
                    onPick({
                      interval,
                      series: part === null ? null : all.findIndex(({ label }) => label === part),
                    });
                  }
            }
          />
        )}
        <div className={styles.chartTimes} aria-hidden="true">
          {timeLabels.map(({ index, text, leftPx }) => (
            <span key={index} style={{ left: leftPx }}>
              {text}
            </span>
          ))}
        </div>
        {isShown ? (
          <ChartTooltip
            title={title}
            values={listed}
            isNamed={isNamed}
            isSum={isStacked}
            isPicked={onPick !== undefined}
            format={format}
            besidePx={{ left: at * columnPx, right: (last - at) * columnPx }}
          />
        ) : null}
      </div>
    </figure>
  );
}

/** Hides the values on Escape. */
function useEscape(isShown: boolean, setShown: (shown: null) => void): void {
  useEffect(() => {
    if (!isShown) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") setShown(null);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isShown, setShown]);
}

interface TicksProps {
  readonly ticks: readonly number[];
  readonly heightPx: number;
  readonly format: (value: number, ticks: readonly number[]) => string;
}

/** The value labels beside the chart. */
function Ticks({ ticks, heightPx, format }: TicksProps) {
  const top = topOf(ticks);
  return (
    <div className={styles.chartValues} aria-hidden="true" style={{ height: heightPx }}>
      {ticks.map((tick) => (
        <span key={tick} style={{ top: `${100 - (tick / top) * 100}%` }}>
          {format(tick, ticks)}
        </span>
      ))}
    </div>
  );
}

interface VisibleSeries {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** The style variable of the colour. */
  readonly colour: string;
}

/** The series that the legend has not switched off. They keep their colours. */
function useVisible(all: readonly ChartSeries[]) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const series = useMemo(
    () =>
      all.flatMap(({ label, values, isOther, colour }, index): VisibleSeries[] =>
        hidden.has(label) ? [] : [{ label, values, colour: seriesColour(colour ?? index, isOther) }],
      ),
    [all, hidden],
  );
  const toggle = (label: string) =>
    setHidden((before) => {
      const next = new Set(before);
      if (!next.delete(label)) next.add(label);
      return next;
    });
  return { series, hidden, toggle };
}

/** The label of the part of a stacked bar at a value from its foot up; `null` above the bar. */
function partAt(series: readonly VisibleSeries[], at: number, value: number): string | null {
  let top = 0;
  for (const { label, values } of series) {
    top += values[at] ?? 0;
    if (value < top) return label;
  }
  return null;
}

/** The values of one interval, without series that have none. */
function valuesAt(series: readonly VisibleSeries[], at: number): readonly SeriesValue[] {
  return series.flatMap(({ label, values, colour }) => {
    const value = values[at] ?? null;
    return value === null ? [] : [{ label, colour, value }];
  });
}

/** Whether there is nothing to draw: no value for a line, or no bar that is higher than 0. */
function isBlank(all: readonly ChartSeries[], kind: ChartProps["kind"]): boolean {
  return all.every(({ values }) =>
    values.every((value) => value === null || (value === 0 && kind !== "line")),
  );
}

/** The height that the chart needs in each interval. Stacked values need the height of their sum. */
function heightsOf(series: readonly VisibleSeries[], intervals: number, kind: ChartProps["kind"]): number[] {
  if (kind === "line") return series.flatMap(({ values }) => values.map((value) => value ?? 0));
  return Array.from({ length: intervals }, (_, index) =>
    series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
}
