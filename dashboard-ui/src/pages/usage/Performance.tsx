import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Chart } from "../../components/Chart.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatCount, formatDateTime, formatDuration, formatShare } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import panelStyles from "../../components/Panel.module.css";
import { staleProps } from "../../components/stale.ts";
import textStyles from "../../components/text.module.css";
import type { PerformanceAnswer, PerformanceFigures, PerformanceSource } from "./performance-source.ts";
import type { Period } from "./period.ts";
import usageStyles from "./usage.module.css";

const REFRESH_MS = 30_000;

interface Time {
  readonly name: string;
  readonly read: (
    figures: PerformanceFigures,
  ) => PerformanceFigures["latencyMs"] | PerformanceFigures["timeToFirstTokenMs"];
}

const TIMES: readonly Time[] = [
  { name: "Latency", read: ({ latencyMs }) => latencyMs },
  { name: "Time to first token", read: ({ timeToFirstTokenMs }) => timeToFirstTokenMs },
];

interface PerformanceProps {
  readonly source: PerformanceSource;
  readonly period: Period;
}

/** How fast requests were answered, and by which upstreams. */
export function Performance({ source, period }: PerformanceProps) {
  const { span, shownZone } = period;
  const query = useQuery({
    queryKey: ["usage", "performance", source.name, span, shownZone],
    // An answer keeps its period, by which it is labelled while the next one loads.
    queryFn: async () => ({ ...(await source.read(span)), period }),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });
  return (
    <Loaded query={query} what="latency">
      {(answer) =>
        answer.upstreams.length === 0 ? null : (
          <div {...staleProps(query.isPlaceholderData, usageStyles.usageReport)}>
            <div className={usageStyles.usageCharts}>
              {TIMES.map((time) => (
                <section key={time.name} className={panelStyles.panel} aria-label={`${time.name} over time`}>
                  <h3>{time.name}</h3>
                  <TimeChart time={time} answer={answer} />
                </section>
              ))}
            </div>
            <DataTable
              caption={`Upstreams, ${answer.period.words}`}
              columns={UPSTREAM_COLUMNS}
              rows={answer.upstreams}
              rowKey={({ upstream }) => upstream}
            />
            <p className={textStyles.small}>
              Times of successful requests. Half of them took at most p50, 95% took at most p95.
              {answer.measuredSince === null
                ? ""
                : ` Measured since ${formatDateTime(answer.measuredSince)}: the latest ${formatCount(20_000)} requests.`}
            </p>
          </div>
        )
      }
    </Loaded>
  );
}

interface TimeChartProps {
  readonly time: Time;
  readonly answer: PerformanceAnswer & { readonly period: Period };
}

function TimeChart({ time: { name, read }, answer }: TimeChartProps) {
  const { period } = answer;
  const byStart = new Map(answer.intervals.map((row) => [row.start.getTime(), read(row)]));
  const found = period.starts.map((start) => byStart.get(start.getTime()));
  return (
    <Chart
      label={`${name}, ${period.words}`}
      kind="line"
      times={period.starts}
      interval={period.span.interval}
      timeZone={period.shownZone}
      series={[
        { label: "p50", values: found.map((each) => each?.p50 ?? null) },
        { label: "p95", values: found.map((each) => each?.p95 ?? null) },
      ]}
      format={(value) => formatDuration(Math.round(value))}
      blank="No measurements"
    />
  );
}

type UpstreamRow = PerformanceAnswer["upstreams"][number];

const duration = (value: number | null) => (value === null ? "–" : formatDuration(Math.round(value)));

const UPSTREAM_COLUMNS: readonly Column<UpstreamRow>[] = [
  { label: "Upstream", kind: "name", cell: ({ upstream }) => upstream },
  { label: "Requests", kind: "number", cell: ({ requests }) => formatCount(requests) },
  {
    label: "Success",
    kind: "number",
    cell: ({ requests, errors }) => formatShare((requests - errors) / requests),
  },
  { label: "Latency p50", kind: "number", cell: ({ latencyMs }) => duration(latencyMs.p50) },
  { label: "Latency p95", kind: "number", cell: ({ latencyMs }) => duration(latencyMs.p95) },
  {
    label: "First token p50",
    kind: "number",
    cell: ({ timeToFirstTokenMs }) => duration(timeToFirstTokenMs.p50),
  },
  {
    label: "First token p95",
    kind: "number",
    cell: ({ timeToFirstTokenMs }) => duration(timeToFirstTokenMs.p95),
  },
];
