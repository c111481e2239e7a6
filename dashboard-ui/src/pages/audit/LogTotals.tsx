import { type MouseEvent, useState } from "react";
import type { LogSummary } from "../../api/types.ts";
import buttonStyles from "../../components/Button.module.css";
import { classes } from "../../components/classes.ts";
import {
  formatCount,
  formatCountBriefly,
  formatDateTime,
  formatShare,
  formatUsdRoughly,
} from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import { barsOf } from "./histogram.ts";
import styles from "./LogTotals.module.css";

interface LogTotalsProps {
  readonly summary: LogSummary | undefined;
  readonly isErrorsOnly: boolean;
  /** `null` without filters. */
  readonly clearFilters: (() => void) | null;
  readonly onErrorsOnly: (isOn: boolean) => void;
  /** Called with the period of a bar that is clicked. */
  readonly onPeriod: (from: Date, to: Date) => void;
}

/** The height of the chart in units of its own. */
const HEIGHT = 40;

/** The totals of the entries that match, and when they came in. */
export function LogTotals({ summary, isErrorsOnly, clearFilters, onErrorsOnly, onPeriod }: LogTotalsProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const total = summary?.total;
  const bucket = pointed === null ? undefined : summary?.buckets[pointed];
  return (
    <section className={styles.totals} aria-label="Totals">
      <div className={styles.figures}>
        <dl>
          <Figure name="Requests" value={total === undefined ? "…" : formatCount(total.requests)} />
          <Figure
            name="Errors"
            value={
              total === undefined
                ? "…"
                : `${formatCount(total.errors)}${total.errors === 0 ? "" : ` (${formatShare(total.errors / total.requests)})`}`
            }
          />
          <Figure
            name="Tokens"
            value={
              total === undefined ? "…" : formatCountBriefly(total.promptTokens + total.completionTokens)
            }
          />
          <Figure name="Cost" value={total === undefined ? "…" : formatUsdRoughly(total.costNanoUsd)} />
        </dl>
        <span className={classes(styles.note, textStyles.small)}>
          {bucket !== undefined
            ? `${formatDateTime(bucket.start)}: ${formatCount(bucket.requests)} requests, ${formatCount(bucket.errors)} errors`
            : summary?.countedFrom == null
              ? ""
              : `Counted since ${formatDateTime(summary.countedFrom)}`}
        </span>
        {clearFilters === null ? null : (
          <button type="button" className={classes(buttonStyles.button, styles.small)} onClick={clearFilters}>
            Clear filters
          </button>
        )}
        <button
          type="button"
          className={classes(buttonStyles.button, styles.small, styles.errorsOnly)}
          aria-pressed={isErrorsOnly}
          onClick={() => onErrorsOnly(!isErrorsOnly)}
        >
          Errors only
        </button>
      </div>
      {summary === undefined ? (
        <div className={styles.chart} />
      ) : (
        <Histogram summary={summary} pointed={pointed} setPointed={setPointed} onPeriod={onPeriod} />
      )}
    </section>
  );
}

interface HistogramProps extends Pick<LogTotalsProps, "onPeriod"> {
  readonly summary: LogSummary;
  readonly pointed: number | null;
  readonly setPointed: (index: number | null) => void;
}

/** The requests over time. A click on a bar is a shortcut for the time filter, which the keyboard has, too. */
function Histogram({ summary: { buckets, bucketMs, total }, pointed, setPointed, onPeriod }: HistogramProps) {
  const indexAt = ({ currentTarget, clientX }: MouseEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * buckets.length)));
  };
  const choose = (event: MouseEvent<SVGSVGElement>) => {
    const start = buckets[indexAt(event)]?.start;
    if (start !== undefined) onPeriod(start, new Date(start.getTime() + bucketMs));
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the time filter does the same by the keyboard
    <svg
      className={styles.chart}
      role="img"
      aria-label={`Histogram: ${formatCount(total.requests)}, of them ${formatCount(total.errors)} errors`}
      viewBox={`0 0 ${Math.max(1, buckets.length)} ${HEIGHT}`}
      preserveAspectRatio="none"
      onMouseMove={(event) => setPointed(indexAt(event))}
      onMouseLeave={() => setPointed(null)}
      onClick={choose}
    >
      {pointed === null ? null : (
        <rect className={styles.pointed} x={pointed} y={0} width={1} height={HEIGHT} />
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
          <rect className={styles.errors} x={index + 0.1} y={HEIGHT - errors} width={0.8} height={errors} />
        </g>
      ))}
    </svg>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
