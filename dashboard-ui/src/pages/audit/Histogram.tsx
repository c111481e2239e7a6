import { useState } from "react";
import type { LogSummary } from "../../api/types.ts";
import { ChartCursor } from "../../components/chart/ChartCursor.tsx";
import {
  formatCount,
  formatCounted,
  formatDateTime,
  formatExactTime,
  formatSpan,
} from "../../components/format.ts";
import { barsOf } from "./bars.ts";
import styles from "./Histogram.module.css";

interface HistogramProps {
  /** `undefined` while it is loaded: its place is kept. */
  readonly summary: LogSummary | undefined;
  /** Called with the period of a bar that is chosen. */
  readonly onPeriod: (from: Date, to: Date) => void;
}

/** The height of the chart in units of its own. */
const HEIGHT = 40;

/** Shorter bars need seconds in their times. */
const MINUTE_MS = 60_000;

/** The requests over time. A click on a bar, or Enter, narrows the time to it. */
export function Histogram({ summary, onPeriod }: HistogramProps) {
  if (summary === undefined || summary.buckets.length === 0) {
    return (
      <div className={styles.histogram}>
        <div className={styles.plot} />
        <p className={styles.axis} />
      </div>
    );
  }
  return <Bars summary={summary} onPeriod={onPeriod} />;
}

function Bars({ summary, onPeriod }: HistogramProps & { readonly summary: LogSummary }) {
  const { buckets, bucketMs, total } = summary;
  const [pointed, setPointed] = useState<number | null>(null);
  const last = buckets.length - 1;
  // The bar may no longer exist: other filters have fewer bars.
  const at = Math.min(pointed ?? last, last);
  const bucket = buckets[at];
  const max = Math.max(...buckets.map(({ requests }) => requests));
  const format = bucketMs < MINUTE_MS ? formatExactTime : formatDateTime;
  const label = bucket === undefined ? "" : format(bucket.start);
  return (
    <div className={styles.histogram}>
      <div className={styles.plot}>
        <svg
          role="img"
          aria-label={`Histogram: ${countsText(total)}`}
          viewBox={`0 0 ${buckets.length} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          {pointed === null ? null : (
            <rect className={styles.pointed} x={at} y={0} width={1} height={HEIGHT} />
          )}
          {barsOf(buckets, HEIGHT).map(({ index, requests, errors }) => (
            <g key={index}>
              <rect
                className={styles.bar}
                x={index + 0.1}
                y={HEIGHT - requests}
                width={0.8}
                height={requests - errors}
              />
              <rect
                className={styles.errors}
                x={index + 0.1}
                y={HEIGHT - errors}
                width={0.8}
                height={errors}
              />
            </g>
          ))}
        </svg>
        <ChartCursor
          label="the histogram"
          intervals={buckets.length}
          at={at}
          isShown={pointed !== null}
          title={label}
          values={bucket === undefined ? [] : valuesOf(bucket)}
          isNamed
          format={formatCount}
          onMove={setPointed}
          onEnter={() => setPointed((before) => before ?? last)}
          onLeave={() => setPointed(null)}
          onPick={(index) => {
            const start = buckets[index]?.start;
            if (start !== undefined) onPeriod(start, new Date(start.getTime() + bucketMs));
          }}
        />
      </div>
      <p className={styles.axis} aria-hidden="true">
        <span>{format(buckets[0]?.start ?? new Date(0))}</span>
        <span className={pointed === null ? styles.scale : styles.value}>
          {pointed === null || bucket === undefined
            ? `Bars of ${formatSpan(bucketMs / 1_000)}, at most ${formatCounted(max, "request")}`
            : `${label}: ${countsText(bucket)}`}
        </span>
        <span>{format(new Date((buckets[last]?.start.getTime() ?? 0) + bucketMs))}</span>
      </p>
    </div>
  );
}

interface Counts {
  readonly requests: number;
  readonly errors: number;
}

function countsText({ requests, errors }: Counts): string {
  return `${formatCounted(requests, "request")}, ${formatCounted(errors, "error")}`;
}

function valuesOf({ requests, errors }: Counts) {
  return [
    { label: "Requests", colour: "var(--chart-1)", value: requests },
    { label: "Errors", colour: "var(--danger)", value: errors },
  ];
}
