import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { client } from "../../../api/client.ts";
import { Chart, type ChartPart } from "../../../components/Chart.tsx";
import { classes } from "../../../components/classes.ts";
import {
  formatCount,
  formatCounted,
  formatDateTime,
  formatDuration,
  formatShare,
  formatShareBriefly,
} from "../../../components/format.ts";
import { Loaded } from "../../../components/Loaded.tsx";
import panelStyles from "../../../components/Panel.module.css";
import { staleProps } from "../../../components/stale.ts";
import textStyles from "../../../components/text.module.css";
import type { Period } from "../../usage/period.ts";
import { type History, type HistoryFigures, historyOf } from "./history.ts";
import styles from "./UpstreamCharts.module.css";

const REFRESH_MS = 30_000;

/** Error rate, latency and errors by code of each upstream over time. */
export function UpstreamCharts({ period: chosen }: { readonly period: Period }) {
  const { span } = chosen;
  const query = useQuery({
    queryKey: ["upstreams", "history", span],
    // An answer keeps its period, by which it is labelled while the next one loads.
    queryFn: async () => ({ ...(await client.operator.upstreamHistory.query(span)), period: chosen }),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });
  return (
    <Loaded query={query} what="charts">
      {({ upstreams, measuredSince, period }) =>
        upstreams.length === 0 ? (
          <p className={textStyles.quiet}>No requests reached an upstream in {period.words}.</p>
        ) : (
          <div {...staleProps(query.isPlaceholderData, styles.upstreams)}>
            {upstreams.map((history) => (
              <UpstreamPanel key={history.upstream} history={history} period={period} />
            ))}
            <p className={textStyles.small}>
              Latency of successful requests. Half of them took at most p50, 95% took at most p95.
              {measuredSince === null
                ? ""
                : ` Measured since ${formatDateTime(measuredSince)}: the latest ${formatCount(20_000)} requests.`}
            </p>
          </div>
        )
      }
    </Loaded>
  );
}

interface UpstreamPanelProps {
  readonly history: History;
  readonly period: Period;
}

function UpstreamPanel({ history, period }: UpstreamPanelProps) {
  const { upstream } = history;
  const figures = historyOf(history, period.starts);
  return (
    <section className={classes(panelStyles.panel, styles.panel)} aria-label={`${upstream} over time`}>
      <h3>
        {upstream}{" "}
        <span className={classes(textStyles.small, styles.summary)}>
          {formatCounted(figures.requests, "request")}, {formatShare(figures.errors / figures.requests)}{" "}
          errors
        </span>
      </h3>
      <div className={styles.charts}>
        <RateChart upstream={upstream} figures={figures} period={period} />
        <LatencyChart upstream={upstream} figures={figures} period={period} />
        {figures.codes.length === 0 ? null : (
          <CodesChart upstream={upstream} figures={figures} period={period} />
        )}
      </div>
    </section>
  );
}

interface FigureProps {
  readonly upstream: string;
  readonly figures: HistoryFigures;
  readonly period: Period;
}

const timesOf = ({ starts, span, shownZone }: Period) => ({
  times: starts,
  interval: span.interval,
  timeZone: shownZone,
});

function RateChart({ upstream, figures, period }: FigureProps) {
  const pick = usePick(upstream, period);
  return (
    <div>
      <h4>Error rate</h4>
      {figures.errors === 0 ? (
        <p className={textStyles.quiet}>No errors.</p>
      ) : (
        <Chart
          label={`Error rate of ${upstream}, ${period.words}`}
          kind="line"
          {...timesOf(period)}
          series={[{ label: "Error rate", values: figures.errorRates, colour: "errors" }]}
          format={formatShare}
          formatTick={formatShareBriefly}
          onPick={(part) => pick(part, { status: "error" })}
        />
      )}
    </div>
  );
}

function LatencyChart({ upstream, figures, period }: FigureProps) {
  const pick = usePick(upstream, period);
  return (
    <div>
      <h4>Latency</h4>
      {figures.p50.every((value) => value === null) ? (
        <p className={textStyles.quiet}>No successful requests.</p>
      ) : (
        <Chart
          label={`Latency of ${upstream}, ${period.words}`}
          kind="line"
          {...timesOf(period)}
          series={[
            { label: "p50", values: figures.p50 },
            { label: "p95", values: figures.p95 },
          ]}
          format={(value) => formatDuration(Math.round(value))}
          onPick={(part) => pick(part, {})}
        />
      )}
    </div>
  );
}

function CodesChart({ upstream, figures, period }: FigureProps) {
  const pick = usePick(upstream, period);
  return (
    <div>
      <h4>Errors by code</h4>
      <Chart
        label={`Errors of ${upstream} by code, ${period.words}`}
        {...timesOf(period)}
        series={figures.codes.map(({ code, values, isOther }) => ({
          label: isOther ? "All others" : code,
          values,
          isOther,
        }))}
        isNamed
        format={formatCount}
        onPick={(part) => {
          const code = part.series === null ? undefined : figures.codes[part.series];
          pick(part, code === undefined || code.isOther ? { status: "error" } : { error_code: code.code });
        }}
      />
    </div>
  );
}

/** Opens the log of an upstream in the interval that was chosen. */
function usePick(upstream: string, { starts, span }: Period) {
  const navigate = useNavigate();
  return ({ interval }: ChartPart, filter: { readonly status?: string; readonly error_code?: string }) => {
    const from = starts[interval]?.toISOString();
    const to = (starts[interval + 1] ?? span.to).toISOString();
    void navigate({ to: "/operator/log", search: { upstream, ...filter, from, to } });
  };
}
