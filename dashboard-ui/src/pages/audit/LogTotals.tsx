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
import { Histogram } from "./Histogram.tsx";
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

/** The totals of the entries that match, and when they came in. */
export function LogTotals({ summary, isErrorsOnly, clearFilters, onErrorsOnly, onPeriod }: LogTotalsProps) {
  const total = summary?.total;
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
          {summary?.countedFrom == null ? "" : `Counted since ${formatDateTime(summary.countedFrom)}`}
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
      <Histogram summary={summary} onPeriod={onPeriod} />
    </section>
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
